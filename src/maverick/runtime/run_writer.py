"""Records a run in its journal as it happens: the intent before the act, the rest with the next intent.

A turn with tools takes two commits: the model's answer goes with the intent to run its tools, their results go with the
intent to call the model again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Sequence
from typing import Any

from maverick.journal import Journal
from maverick.journal.codec import blobs_in, encode_entry
from maverick.journal.records import Approval, Lease, RunRecord, RunStatus, Words
from maverick.journal.transaction import NothingWritten, Transaction
from maverick.loop.entries import (
    ApprovalDecided,
    Entry,
    ModelCalled,
    Resumed,
    RunStarted,
    Said,
    ToolFinished,
    ToolsStarted,
)
from maverick.loop.result import AgentResult, TerminateReason
from maverick.model import Blob

_INTENTS = (ModelCalled, ToolsStarted, ApprovalDecided, Resumed)


class RunWriter:
    """Writes one run to a journal."""

    def __init__(
        self,
        journal: Journal,
        lease: Lease | None = None,
        forked_from: str | None = None,
        caller: Lease | None = None,
    ) -> None:
        self.journal = journal
        self.lease = lease
        self._forked_from = forked_from
        self._caller = caller
        self._start: RunStarted | None = None
        self._pending: list[bytes] = []
        self._blobs: list[Blob] = []
        """The blobs that the pending entries name."""
        self._unconfirmed: asyncio.Task[Words | None] | None = None
        self._written: set[int] = set()
        """The entries that a tool's transaction has already written."""

    async def write(self, entry: Entry, *, listens: bool = False) -> Words | None:
        """Write an entry: an intent before this returns, anything else with the next intent.

        Returns words that wait for the run, if it ``listens`` for them: then the intent was not written. What an intent
        announces must not be done if this fails.
        """
        if id(entry) in self._written:
            self._written.discard(id(entry))
            return None
        self.add(entry)
        if not isinstance(entry, _INTENTS):
            return None
        return await self._flush(type(entry).__name__, listens=listens)

    async def take_in(self, number: int, said: Said) -> None:
        """Write words that were said to the run, which no longer wait for it then."""
        await self.journal.load_blobs([said])
        self.add(said)
        await self._flush("Said", heard=number)
        self._written.add(id(said))

    def add(self, entry: Entry) -> None:
        """Have an entry written with the next intent."""
        if isinstance(entry, RunStarted):
            self._start = entry
        self._pending.append(encode_entry(entry))
        self._blobs += blobs_in(entry)

    def transaction(self) -> Transaction:
        """A transaction for a tool's effect and its entry, or a JournalError if the journal is not a database."""
        assert self.lease is not None  # noqa: S101 - tools run after their intent was written
        return self.journal.transaction(self.lease)

    async def commit(self, transaction: Transaction, entry: ToolFinished) -> None:
        """Write an entry in a tool's transaction, and commit both.

        A tool that is stopped meanwhile is stopped too late: what is committed has happened, so this returns only when
        that is known, as if the tool had not been stopped.
        """
        self.journal.at_write_point("Transaction", before=True)
        committing = asyncio.ensure_future(transaction.commit([encode_entry(entry)], blobs_in(entry)))
        while not committing.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([committing])
        committing.result()
        self._written.add(id(entry))
        self.journal.at_write_point("Transaction", before=False)

    def write_soon(self) -> None:
        """Write what was added without waiting for it; the next write waits for both."""
        if self._unconfirmed is None and self._pending and self.lease is not None:
            # What there is now is taken now: an intent that is added before the task begins is not for it to write.
            writing = self._append(self.lease, "ToolFinished", RunStatus.RUNNING, "", self._taken())
            self._unconfirmed = asyncio.ensure_future(writing)
            # The next write raises what failed here; a run that ends before it has an error of its own.
            self._unconfirmed.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def finish(self, result: AgentResult[Any], *, listens: bool = False) -> Words | None:
        """Write how the run ended; with ``listens``, return words that wait for it instead, if there are some."""
        reason = result.terminate_reason
        status = RunStatus.COMPLETE if reason is TerminateReason.COMPLETE else RunStatus.STOPPED
        return await self._flush("Finished", status, reason.value, listens=listens)

    async def hand_over(self) -> None:
        """Write what was added; the run is not over, and another process may claim it."""
        if self._pending or self._unconfirmed is not None:
            await self._flush("HandedOver")

    async def park(self, approvals: Sequence[Approval]) -> None:
        """Write what a person is asked, and that the run waits for it."""
        await self._flush("Parked")
        assert self.lease is not None  # noqa: S101 - the write has just made sure of it
        self.journal.at_write_point("ApprovalRequested", before=True)
        await self.journal.request_approvals(self.lease, approvals)
        self.journal.at_write_point("ApprovalRequested", before=False)

    async def _flush(
        self,
        point: str,
        status: RunStatus = RunStatus.RUNNING,
        reason: str = "",
        *,
        listens: bool = False,
        heard: int = 0,
    ) -> Words | None:
        if self._unconfirmed is not None:
            earlier, self._unconfirmed = self._unconfirmed, None
            await _uninterrupted(earlier)
        if self.lease is None:
            await _uninterrupted(self._create(point, status, reason))
            return None
        taken = self._taken()
        return await self._append(self.lease, point, status, reason, taken, listens=listens, heard=heard)

    async def _create(self, point: str, status: RunStatus, reason: str) -> None:
        start, now = self._start, time.time()
        assert start is not None  # noqa: S101 - a run without a lease begins with RunStarted
        record = RunRecord(
            run_id=start.run_id,
            agent="/".join(start.agent),
            status=status,
            reason=reason,
            created_at=now if self._forked_from else start.at,
            updated_at=now,
            entries=0,
            parent=start.parent,
            user_id=start.user_id,
            forked_from=self._forked_from,
        )
        payloads, blobs = self._taken()
        self.journal.at_write_point(point, before=True)
        self.lease = await self.journal.create(record, payloads, self._caller, blobs)
        self.journal.at_write_point(point, before=False)

    async def _append(
        self,
        lease: Lease,
        point: str,
        status: RunStatus,
        reason: str,
        taken: tuple[list[bytes], list[Blob]],
        *,
        listens: bool = False,
        heard: int = 0,
    ) -> Words | None:
        payloads, blobs = taken
        self.journal.at_write_point(point, before=True)
        try:
            words = await self.journal.append(
                lease, payloads, status, reason, blobs=blobs, listens=listens, heard=heard
            )
        except NothingWritten as stop:
            self._put_back(payloads, blobs, status)
            raise asyncio.CancelledError from stop
        if words is not None:
            self._put_back(payloads, blobs, status)
        self.journal.at_write_point(point, before=False)
        return words

    def _put_back(self, payloads: list[bytes], blobs: list[Blob], status: RunStatus) -> None:
        """Write what was not written with the next intent, in place of the one that has to wait for words."""
        is_intent = status is RunStatus.RUNNING
        self._pending, self._blobs = payloads[:-1] if is_intent else payloads, blobs

    def _taken(self) -> tuple[list[bytes], list[Blob]]:
        """What is to be written now."""
        taken = self._pending, self._blobs
        self._pending, self._blobs = [], []
        return taken


async def _uninterrupted(writing: Awaitable[object]) -> None:
    """Wait for a write to end even when the waiting task is cancelled: its outcome has to be known."""
    task = asyncio.ensure_future(writing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
