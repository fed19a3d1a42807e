"""A tool's transaction in a Postgres journal, on a connection of its own; it holds nobody up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from maverick.exceptions import JournalError, LeaseLostError, ToolError
from maverick.journal.postgres_database import PostgresDatabase
from maverick.journal.postgres_driver import DURABLE, FAULTS, Connection, PostgresPool, is_undone, said
from maverick.journal.postgres_entries import Append, write_entries
from maverick.journal.postgres_steps import SteppedTransaction
from maverick.journal.records import Lease
from maverick.journal.transaction import Transaction, check_statement

R = TypeVar("R")


class PostgresTransaction(Transaction):
    """Statements of one tool call, and its entry, in one transaction.

    Args:
        database: Where.
        lease: The right to write the run.
    """

    def __init__(self, database: PostgresDatabase, lease: Lease) -> None:
        self._database = database
        self._lease = lease
        self._using = asyncio.Lock()
        self._pool: PostgresPool | None = None
        self._connection: Connection | None = None
        self._steps: SteppedTransaction | None = None
        self._over = False

    @property
    def session(self) -> PostgresTransaction:
        """This object: it is its own session."""
        return self

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed."""
        check_statement(statement)

        async def change(connection: Connection) -> int:
            # Prepared, because the server then takes one statement only: none can hide a COMMIT behind it.
            prepared = await connection.prepare(statement)
            await prepared.fetch(*values)
            return _rows_in(prepared.get_statusmsg())

        return await self._step(change)

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a query; returns its rows."""
        check_statement(statement)

        async def query(connection: Connection) -> list[dict[str, Any]]:
            return [dict(row.items()) for row in await connection.fetch(statement, *values)]

        return await self._step(query)

    async def commit(self, payloads: Sequence[bytes]) -> None:
        """Write the entries and commit."""
        self._lease.check()
        try:
            await self._step(lambda connection: write_entries(connection, Append(self._lease, payloads)))
            await self._commit()
        except ToolError as error:
            raise JournalError(
                f"The transaction could not be committed: {error} Nothing has happened.", cause=error
            ) from error

    async def roll_back(self) -> None:
        """Undo what was done, unless it is committed, and give the connection back."""
        self._over = True
        async with self._using:
            connection, self._connection = self._connection, None
            if connection is None or self._pool is None:
                return
            # If the connection is gone, there is nothing to undo or to give back: the server has seen to it.
            try:
                with suppress(*FAULTS):
                    if self._steps is not None:
                        await self._steps.roll_back()
            finally:
                with suppress(*FAULTS):
                    await self._pool.release(connection)

    async def _commit(self) -> None:
        steps, self._steps, self._over = self._steps, None, True
        assert steps is not None  # noqa: S101 - the entries were a step
        try:
            await steps.commit()
        except FAULTS as error:
            if is_undone(error):
                raise ToolError(f"The database refused: {said(error)}.", cause=error) from error
            self._lease.ended = True
            raise LeaseLostError(
                f"The database did not answer the commit of a tool's transaction ({said(error)}), so nobody knows whether "
                f"it was made. Resume the run {self._lease.run_id!r}: it goes on from what is written.",
                run_id=self._lease.run_id,
                cause=error,
            ) from error

    async def _step(self, work: Callable[[Connection], Awaitable[R]]) -> R:
        async with self._using:
            if self._over:
                raise ToolError("The transaction is over. Use the session only while the tool runs.")
            try:
                return await (await self._begun()).step(work)
            except FAULTS as error:
                raise ToolError(f"The database refused: {said(error)}.", cause=error) from error

    async def _begun(self) -> SteppedTransaction:
        if self._connection is None:
            self._pool = await self._database.pool()
            self._connection = await self._pool.acquire()
        if self._steps is None:
            await self._connection.execute(DURABLE)
            self._steps = SteppedTransaction(self._connection)
        return self._steps


def _rows_in(status: str) -> int:
    """How many rows a statement changed, of what the server says of it: ``UPDATE 3``, ``INSERT 0 1``, ``CREATE TABLE``."""
    last = status.rpartition(" ")[2]
    return int(last) if last.isdigit() else 0
