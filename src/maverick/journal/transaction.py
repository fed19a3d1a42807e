"""How a journal is written to: a tool's effect together with its entry (``transactional``), and a write that is waited for."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

from maverick.exceptions import JournalError, ToolError
from maverick.journal.records import Append
from maverick.model import Blob

R = TypeVar("R")


class Session(Protocol):
    """What a transactional tool works with: statements in the journal's own database, with its placeholders.

    A statement the database refuses is undone by itself; the tool may continue with another one.
    """

    async def execute(self, statement: str, *values: Any) -> int:
        """Run a statement; returns how many rows it changed. A ``ToolError`` says that it was refused, or the call is over."""
        ...

    async def fetch(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a query; returns its rows, or raises ToolError if the database refused it, or the tool's call is over."""
        ...


def forbidden(word: str) -> ToolError:
    """The error for a tool that begins or ends a transaction by itself, which would separate its effect from its entry."""
    return ToolError(
        f"{word} is not allowed in a tool: its transaction ends when it returns. Leave it out, and raise an error to "
        "undo everything."
    )


class Transaction(Session, ABC):
    """An open transaction: commit it with the entry that tells of it, or leave it and nothing has happened."""

    escaped = False
    """Whether the tool managed to commit it by itself, so that it is unknown what has happened."""
    lost: JournalError | None = None
    """What is wrong with the database, if it was lost under the tool: nothing has happened, whatever the tool makes of it."""

    @abstractmethod
    async def commit(self, payloads: Sequence[bytes], blobs: Sequence[Blob] = ()) -> None:
        """Write the entries, with the blobs they name, and make everything durable at once.

        Raises:
            ToolError: The database has undone it because of what the tool did; nothing has happened.
            LeaseLostError: Another process has claimed the run, and nothing has happened; or the connection broke, and
                it is unknown whether it has. Either way this process can no longer write to the run.
            JournalError: It could not be written; nothing has happened.
        """

    @abstractmethod
    async def roll_back(self) -> None:
        """Undo everything that is not committed; the session can no longer be used."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.roll_back()


class NothingWritten(asyncio.CancelledError):
    """The waiting task was cancelled, and nothing was written, because words wait for the run."""


class PendingWrite(Generic[R]):
    """A write that a task in an event loop waits for: ``work`` makes it, given a connection.

    The writer sets ``value`` or ``error``, wherever it runs; ``settle`` is called in the event loop. If all that it
    does is to add the entries ``append``, they may be added together with those of other runs.
    """

    __slots__ = ("_answer", "_settled", "append", "error", "loop", "run_id", "value", "work")

    def __init__(self, run_id: str, work: Callable[[Any], Any], append: Append | None = None) -> None:
        self.run_id = run_id
        self.work = work
        # Words that are taken in are no entries like any other.
        self.append = None if append is None or append.heard else append
        self.loop = asyncio.get_running_loop()
        self.value: Any = None
        self.error: BaseException | None = None
        self._answer: asyncio.Future[None] | None = None
        self._settled = False

    def settle(self) -> None:
        """Wake the waiting task."""
        self._settled = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    async def outcome(self) -> R:
        """The outcome. A task that is cancelled meanwhile still waits for it, since half a write cannot be reported.

        Raises:
            MaverickError: It failed.
            asyncio.CancelledError: It was made, and the waiting task was cancelled meanwhile.
        """
        cancelled: asyncio.CancelledError | None = None
        while not self._settled:
            # A future for each wait, and no task or shield, which would double the cost of a turn's writes.
            self._answer = self.loop.create_future()
            try:
                await self._answer
            except asyncio.CancelledError as stop:
                cancelled = stop
        if self.error is not None:
            raise self.error
        if cancelled is not None:
            raise cancelled
        result: R = self.value
        return result

    async def appended(self) -> R:
        """The outcome of adding entries, whose value is what was found instead; a cancelled task learns which it was."""
        try:
            return await self.outcome()
        except asyncio.CancelledError as stop:
            if self.value is not None:
                raise NothingWritten from stop
            raise
