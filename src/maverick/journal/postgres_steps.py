"""A Postgres transaction made of steps: one that fails is undone by itself and takes nothing with it.

Postgres gives a whole transaction up when one statement fails. So each step has a savepoint, which is set on the way to
the next one: a step costs one message to the server beside its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from maverick.journal.postgres_driver import FAULTS, Connection

R = TypeVar("R")


class SteppedTransaction:
    """A transaction on a connection, begun with its first step.

    Args:
        connection: Where.
        opening: A statement that is run at its beginning, on the way.
        closing: A statement that is run just before its commit, on the way.
        savepoint: The name of its savepoints.
    """

    def __init__(
        self, connection: Connection, opening: str = "", closing: str = "", savepoint: str = "step"
    ) -> None:
        self._connection = connection
        self._savepoint = savepoint
        self._next = f"BEGIN; {opening}; SAVEPOINT {savepoint}"
        self._end = f"{closing}; COMMIT"

    async def step(self, work: Callable[[Connection], Awaitable[R]]) -> R:
        """Do something; if it fails, nothing of it remains."""
        await self._connection.execute(self._next)
        self._next = f"RELEASE SAVEPOINT {self._savepoint}; SAVEPOINT {self._savepoint}"
        try:
            return await work(self._connection)
        except Exception:
            with suppress(*FAULTS):  # without a connection there is nothing to undo: the server has done so
                await self._connection.execute(f"ROLLBACK TO SAVEPOINT {self._savepoint}")
            raise

    @property
    def is_broken(self) -> bool:
        """Whether the connection is gone, and the transaction with it."""
        return self._connection.is_closed()

    async def commit(self) -> None:
        """Make all steps durable."""
        await self._connection.execute(self._end)

    async def roll_back(self) -> None:
        """Undo all steps."""
        await self._connection.execute("ROLLBACK")
