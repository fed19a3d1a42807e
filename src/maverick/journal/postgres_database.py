"""The connections of one event loop to a Postgres journal: opened on first use, closed, and opened again at will."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from maverick.journal.postgres_driver import FAULTS, Connection, PostgresDriver, PostgresPool, Row
from maverick.journal.postgres_schema import migrate


class PostgresDatabase:
    """A pool for those who read and for tools' transactions, and one connection for the writer.

    Args:
        driver: How to reach the database.
    """

    def __init__(self, driver: PostgresDriver) -> None:
        self.driver = driver
        self.tool_places = asyncio.Semaphore(driver.tools_at_once)
        """Taken by each tool's transaction for as long as it has a connection."""
        self._opening = asyncio.Lock()
        self._pool: PostgresPool | None = None
        self._writing: Connection | None = None

    async def fetch(self, statement: str, *values: Any) -> list[Row]:
        """Run a query; returns its rows.

        Raises:
            JournalError: The database can not be reached, or refused.
        """
        try:
            async with (await self.pool()).connection() as connection:
                return await connection.fetch(statement, *values)
        except FAULTS as error:
            raise self.driver.error("could not be read", error) from error

    async def pool(self) -> PostgresPool:
        """The shared connections, to a database in its newest form."""
        async with self._opening:
            if self._pool is None:
                self._pool = await self._open()
        return self._pool

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """The writer's connection; one that fails is not used again."""
        await self.pool()
        if self._writing is None or self._writing.is_closed():
            self._writing = await self.driver.connect()
        try:
            yield self._writing
        except BaseException:
            self._writing.terminate()
            self._writing = None
            raise

    async def close(self) -> None:
        """Close all connections."""
        pool, self._pool = self._pool, None
        writing, self._writing = self._writing, None
        if writing is not None:
            with suppress(*FAULTS):  # whatever is wrong with a connection, it is gone after this
                async with asyncio.timeout(self.driver.timeout):
                    await writing.close()
        if pool is not None:
            await pool.close()

    async def _open(self) -> PostgresPool:
        pool = await self.driver.open_pool()
        try:
            async with pool.connection() as connection:
                await migrate(connection, self.driver.name)
        except BaseException:
            await pool.close()
            raise
        return pool
