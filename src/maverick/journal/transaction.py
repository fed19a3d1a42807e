"""A database transaction that holds a tool's effect and its journal entry together (the effect ``transactional``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self


class Session(Protocol):
    """What a transactional tool works with: statements in the journal's own database, with its placeholders."""

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed."""
        ...

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a query; returns its rows."""
        ...


class Transaction(ABC):
    """An open transaction: commit it with the entry that tells of it, or leave it and nothing has happened."""

    @property
    @abstractmethod
    def session(self) -> Session:
        """What the tool works with."""

    @abstractmethod
    async def commit(self, payloads: Sequence[bytes]) -> None:
        """Write the entries and make everything durable at once.

        Raises:
            LeaseLostError: Somebody else has claimed the run; nothing has happened.
            JournalError: It could not be written; nothing has happened.
        """

    @abstractmethod
    async def roll_back(self) -> None:
        """Undo what was done, unless it is committed."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.roll_back()
