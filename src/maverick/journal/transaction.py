"""A database transaction that holds a tool's effect and its journal entry together (the effect ``transactional``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from maverick.exceptions import ToolError


class Session(Protocol):
    """What a transactional tool works with: statements in the journal's own database, with its placeholders.

    A statement the database refuses is undone by itself; the tool may go on with another one.
    """

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed.

        Raises:
            ToolError: The database refused it, or the tool's call is over.
        """
        ...

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a query; returns its rows.

        Raises:
            ToolError: The database refused it, or the tool's call is over.
        """
        ...


def forbidden(word: str) -> ToolError:
    """What a tool is told that begins or ends a transaction by itself, which would part its effect from its entry."""
    return ToolError(
        f"{word} is not for a tool to say: its transaction ends when it returns. Leave it out, and raise an error to "
        "undo everything."
    )


class Transaction(ABC):
    """An open transaction: commit it with the entry that tells of it, or leave it and nothing has happened."""

    escaped = False
    """Whether the tool has committed it by itself against all precautions, so that nobody knows what has happened."""

    @property
    @abstractmethod
    def session(self) -> Session:
        """What the tool works with."""

    @abstractmethod
    async def commit(self, payloads: Sequence[bytes]) -> None:
        """Write the entries and make everything durable at once.

        Raises:
            ToolError: The database has undone it because of what the tool did; nothing has happened.
            LeaseLostError: Somebody else has claimed the run, and nothing has happened; or the connection broke, and
                nobody knows whether it has. Either way this process may not go on with the run.
            JournalError: It could not be written; nothing has happened.
        """

    @abstractmethod
    async def roll_back(self) -> None:
        """Undo what was done, unless it is committed; the session can not be used any more."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.roll_back()
