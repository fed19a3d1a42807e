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
    """A transaction on a connection, begun with its first step."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._next = "BEGIN; SAVEPOINT step"

    async def step(self, work: Callable[[Connection], Awaitable[R]]) -> R:
        """Do something; if it fails, nothing of it remains."""
        await self._connection.execute(self._next)
        self._next = "RELEASE SAVEPOINT step; SAVEPOINT step"
        try:
            return await work(self._connection)
        except Exception:
            with suppress(*FAULTS):  # without a connection there is nothing to undo: the server has done so
                await self._connection.execute("ROLLBACK TO SAVEPOINT step")
            raise

    @property
    def is_broken(self) -> bool:
        """Whether the connection is gone, and the transaction with it."""
        return self._connection.is_closed()

    async def commit(self) -> None:
        """Make all steps durable."""
        await self._connection.execute("COMMIT")

    async def roll_back(self) -> None:
        """Undo all steps."""
        await self._connection.execute("ROLLBACK")
