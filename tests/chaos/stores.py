"""The journals that are killed, each with a table beside its own for what transactional tools do."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from contextlib import closing
from typing import Any

from maverick.journal import Journal, SqliteJournal

_MAKE = "CREATE TABLE IF NOT EXISTS bookings (run_id TEXT NOT NULL, item TEXT NOT NULL, key TEXT NOT NULL)"


class Store(ABC):
    """A database that holds a journal.

    Args:
        address: Where it is.
    """

    kind: str
    booking: str
    """Inserts a row for a run id, an item and an idempotency key."""

    def __init__(self, address: str) -> None:
        self.address = address

    @abstractmethod
    def journal(self) -> Journal:
        """The journal, not yet open."""

    @abstractmethod
    async def prepare(self) -> None:
        """Make the table."""

    @abstractmethod
    async def bookings(self, run_id: str) -> list[tuple[str, str]]:
        """The items and keys that a run and its subagents have booked."""

    @abstractmethod
    async def waiting(self, run_id: str) -> int:
        """How many words wait for a run."""


class SqliteStore(Store):
    """A file."""

    kind = "sqlite"
    booking = "INSERT INTO bookings (run_id, item, key) VALUES (?, ?, ?)"

    def journal(self) -> Journal:
        return SqliteJournal(self.address)

    async def prepare(self) -> None:
        self._query(_MAKE)

    async def bookings(self, run_id: str) -> list[tuple[str, str]]:
        await self.prepare()
        return self._query(
            "SELECT item, key FROM bookings WHERE run_id = ? OR run_id LIKE ?", run_id, f"{run_id}/%"
        )

    async def waiting(self, run_id: str) -> int:
        return len(self._query("SELECT number FROM words WHERE run_id = ?", run_id))

    def _query(self, statement: str, *values: str) -> list[Any]:
        with closing(sqlite3.connect(self.address, timeout=30, isolation_level=None)) as connection:
            return connection.execute(statement, values).fetchall()


class PostgresStore(Store):
    """A database on a server."""

    kind = "postgres"
    booking = "INSERT INTO bookings (run_id, item, key) VALUES ($1, $2, $3)"

    def journal(self) -> Journal:
        from maverick.journal import PostgresJournal

        return PostgresJournal(self.address)

    async def prepare(self) -> None:
        await self._query(_MAKE)

    async def bookings(self, run_id: str) -> list[tuple[str, str]]:
        found = await self._query(
            "SELECT item, key FROM bookings WHERE run_id = $1 OR run_id LIKE $2", run_id, f"{run_id}/%"
        )
        return [(row["item"], row["key"]) for row in found]

    async def waiting(self, run_id: str) -> int:
        return len(await self._query("SELECT number FROM maverick.words WHERE run_id = $1", run_id))

    async def _query(self, statement: str, *values: str) -> list[Any]:
        import asyncpg  # type: ignore[import-untyped]

        connection = await asyncpg.connect(self.address)
        try:
            found: list[Any] = await connection.fetch(statement, *values)
            return found
        finally:
            await connection.close()


_STORES: dict[str, type[Store]] = {kind.kind: kind for kind in (SqliteStore, PostgresStore)}


def store(kind: str, address: str) -> Store:
    """The store of a kind at an address."""
    return _STORES[kind](address)
