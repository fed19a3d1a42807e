"""Where runs are stored: the protocol of every journal.

A store is append-only. Writes of a run carry a lease; a lease that was overtaken writes nothing. What a method has
written is durable when it returns. One conformance suite holds all stores to the same behaviour.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Self

from maverick.exceptions import InvalidInputError, JournalDamagedError, JournalError, RunNotFoundError
from maverick.journal.approvals import ApprovalStore
from maverick.journal.codec import blobs_in, decode_entry, encode_entry
from maverick.journal.damage import damaged_blob, damaged_run
from maverick.journal.records import (
    ENDED,
    UNFINISHED,
    Append,
    Lease,
    RunCopy,
    RunRecord,
    RunStatus,
    StoredEntry,
    Words,
    check_here,
    is_moving,
)
from maverick.journal.transaction import Transaction
from maverick.journal.words import decode_words, unheard, words_for
from maverick.loop.entries import Entry
from maverick.model import Blob, Part

_PAGE = 256
_ALL = 1_000_000


class Journal(ApprovalStore):
    """Keeps runs. ``SqliteJournal``, ``PostgresJournal`` and ``MemoryJournal`` are the stores."""

    on_write: Callable[[str, bool], None] | None = None
    """Called before (``True``) and after each write of a run with the write's name; for tests that kill the process."""

    def at_write_point(self, name: str, *, before: bool) -> None:
        """Say that a write is about to be made, or has been made."""
        if self.on_write is not None:
            self.on_write(name, before)

    # Runs -------------------------------------------------------------------------------------------------------

    @abstractmethod
    async def create(
        self,
        record: RunRecord,
        payloads: Sequence[bytes],
        caller: Lease | None = None,
        blobs: Sequence[Blob] = (),
    ) -> Lease:
        """Add a run with its first entries, and take the lease on it.

        Args:
            record: The run.
            payloads: Its first entries.
            caller: The lease on the run that called it as a subagent: it has to hold in the same transaction.
            blobs: The blobs that the entries name.

        Raises:
            LeaseLostError: Another process has claimed the caller's run.
            RunExistsError: The id is taken.
        """

    @abstractmethod
    async def claim(self, run_id: str, caller: Lease | None = None) -> Lease:
        """Take the lease on a run; every older lease on it, and on its subagents' runs, is void from now on.

        Args:
            run_id: The run.
            caller: The lease on the run that called it as a subagent: it has to hold in the same transaction.

        Raises:
            LeaseLostError: Another process has claimed the caller's run.
            RunNotFoundError: There is no such run.
        """

    async def append(
        self,
        lease: Lease,
        payloads: Sequence[bytes],
        status: RunStatus = RunStatus.RUNNING,
        reason: str = "",
        *,
        blobs: Sequence[Blob] = (),
        listens: bool = False,
        heard: int = 0,
    ) -> Words | None:
        """Write entries with the blobs they name, all or none; they are durable when this returns.

        A blob that is stored already, for this run or for another, is not stored again. A caller that is cancelled
        meanwhile is told so once they are written.

        Returns:
            The words that wait longest for the run, if it ``listens`` for them: then nothing was written. When they are
            among the entries, their number is ``heard``, and they no longer wait.

        Raises:
            LeaseLostError: Another process has claimed the run, or an earlier write under this lease failed.
            JournalError: They could not be written, or it is unknown whether they were; the lease has ended.
        """
        with lease:
            waiting = await self._append(Append(lease, payloads, status, reason, blobs, listens, heard))
        return None if waiting is None else Words(waiting[0], decode_words(waiting[1]))

    @abstractmethod
    async def _append(self, append: Append) -> tuple[int, bytes] | None:
        """Write entries after those that are there, if the lease's token is the run's newest; see it through.

        Returns:
            The number and the payload of the words that wait longest, in place of a write that listens for them.
        """

    @abstractmethod
    async def get(self, run_id: str) -> RunRecord:
        """What is known of a run.

        Raises:
            RunNotFoundError: There is no such run.
        """

    @abstractmethod
    async def list_runs(
        self, *, status: RunStatus | None = None, parent: str | None = None, limit: int = 100
    ) -> list[RunRecord]:
        """Runs, newest first; those without a parent unless a parent is named."""

    @abstractmethod
    async def run_ids(self) -> list[str]:
        """The ids of all runs, oldest first, those of subagents and those that are damaged included."""

    async def faults(self) -> list[str]:
        """What is wrong with the journal as a whole, in the words of its database; nothing as a rule."""
        return []

    @abstractmethod
    async def read_page(self, run_id: str, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """Up to ``limit`` entries with a number above ``after``: number, format version and payload."""

    @abstractmethod
    async def delete(self, run_id: str) -> int:
        """Remove a run and its subagents' runs, and the blobs that no other run names; returns how many runs."""

    @abstractmethod
    async def receive(self, copies: Sequence[RunCopy]) -> None:
        """Add a run and its subagents' runs as another journal had them, all or none; the first is the one that called.

        A copy that was left behind when the run was moved away from here is replaced, and every lease on it stays void.

        Raises:
            RunExistsError: The run is here, and was not moved away.
        """

    @abstractmethod
    async def waiting_words(self, run_id: str) -> list[bytes]:
        """The words that wait for a run, oldest first."""

    @abstractmethod
    async def blob_names(self, run_id: str) -> list[str]:
        """The hashes of the blobs that a run names."""

    @abstractmethod
    async def _read_blob(self, sha256: str) -> bytes | None:
        """The bytes that are stored under a hash."""

    async def load_blobs(self, entries: Iterable[Entry], run_id: str = "") -> None:
        """Give the blobs in entries of a run their bytes: one after the other, and each is read once.

        Raises:
            JournalDamagedError: A blob is missing, or its bytes are not what they were.
        """
        loaded: dict[str, Blob] = {}
        for blob in [blob for entry in entries for blob in blobs_in(entry) if not blob.is_loaded]:
            same = loaded.setdefault(blob.sha256, blob)
            if same is blob:
                await self.load_blob(blob, run_id)
            else:
                await asyncio.to_thread(blob.load, same.data)

    async def load_blob(self, blob: Blob, run_id: str = "") -> None:
        """Give a blob its bytes, or raise a JournalDamagedError if they are missing or not what they were."""
        data = await self._read_blob(blob.sha256)
        if data is None:
            raise damaged_blob(blob, run_id, "missing")
        try:
            await asyncio.to_thread(blob.load, data)
        except InvalidInputError as error:
            raise damaged_blob(blob, run_id, "damaged") from error

    async def read(self, run_id: str, *, after: int = 0) -> AsyncIterator[StoredEntry]:
        """The entries of a run from a place on, read page by page.

        Raises:
            RunNotFoundError: There is no such run.
            JournalDamagedError: An entry is damaged or missing; those before it have been read.
        """
        async for seq, version, payload in self.read_payloads(run_id, after=after):
            try:
                entry = decode_entry(payload, version)
            except JournalDamagedError as error:
                raise damaged_run(run_id, seq - 1, f"entry {seq} cannot be read", error) from error
            yield StoredEntry(seq, entry)

    async def read_payloads(self, run_id: str, *, after: int = 0) -> AsyncIterator[tuple[int, int, bytes]]:
        """The entries of a run from a place on as they are written: number, format version and payload.

        Raises:
            RunNotFoundError: There is no such run.
            JournalDamagedError: An entry is damaged or missing; those before it have been read.
        """
        least = 0
        with suppress(JournalDamagedError):  # its record is damaged; perhaps not its entries
            least = (await self.get(run_id)).entries
        size = _PAGE
        while size:
            try:
                page = await self.read_page(run_id, after, size)
            except JournalDamagedError as error:
                if size == 1:
                    why = f"entry {after + 1} cannot be read ({error.cause or error})"
                    raise damaged_run(run_id, after, why, error) from error
                size = 1  # up to the damage
                continue
            for seq, version, payload in page:
                if seq != after + 1:
                    raise damaged_run(run_id, after, f"entry {after + 1} is missing")
                if not isinstance(version, int) or not isinstance(payload, bytes):
                    raise damaged_run(run_id, after, f"entry {seq} is not an entry")
                yield seq, version, payload
                after = seq
            size = size if len(page) == size else 0
        if after < least:
            raise damaged_run(run_id, after, f"its entries {after + 1} to {least} are missing")

    async def old_runs(self, before: float, *, unfinished: bool = False) -> list[RunRecord]:
        """Runs that ended before a time; those of subagents belong to the ones that called them.

        Args:
            before: The time, in seconds since the epoch.
            unfinished: Whether to include runs that have not ended and have no entry since then: they wait for a decision, their
                process died, or their move to another journal was interrupted.
        """
        return [
            record
            for status in ((*ENDED, *UNFINISHED) if unfinished else ENDED)
            for record in await self.list_runs(status=status, limit=_ALL)
            if (unfinished or not is_moving(record)) and await self._is_old(record, before)
        ]

    async def prune(self, before: float, *, unfinished: bool = False) -> int:
        """Remove what ``old_runs`` has, and the runs of their subagents; returns how many."""
        removed = 0
        for record in await self.old_runs(before, unfinished=unfinished):
            with suppress(RunNotFoundError):  # another process is pruning too
                removed += await self.delete(record.run_id)
        return removed

    async def _is_old(self, record: RunRecord, before: float) -> bool:
        """Whether nothing was written for it since a time; while it has not ended, its subagents may be at work."""
        if record.updated_at >= before:
            return False
        if record.status in ENDED:
            return True
        subagents = await self.list_runs(parent=record.run_id, limit=_ALL)
        return all([await self._is_old(subagent, before) for subagent in subagents])

    def transaction(self, lease: Lease) -> Transaction:
        """A transaction in the journal's database, for a tool's effect and its entry.

        Raises:
            JournalError: This store is not a database.
        """
        raise JournalError(
            f"{type(self).__name__} is not a database, so the run {lease.run_id!r} cannot use transactional tools. "
            "Use a SqliteJournal or a PostgresJournal."
        )

    # Words for a run --------------------------------------------------------------------------------------------

    async def say(
        self, run_id: str, content: str | Iterable[str | Part], *, by: str = "", user_id: str | None = None
    ) -> int:
        """Leave words for a run: it takes them in, as a message of the user, before its next turn.

        A run that is stopped, parked or whose process died takes them in when it is resumed.

        Args:
            run_id: The run.
            content: The words, and images or documents.
            by: Who says it.
            user_id: The verified user on whose behalf; only that user's runs are found then.

        Returns:
            The number with which :meth:`unsay` takes them back.

        Raises:
            RunNotFoundError: There is no such run, or it is another user's.
            InvalidInputError: It has come to its end, or there are too many words.
        """
        words = words_for(content, by, time.time())
        record = await self.get(run_id)
        if user_id is not None and record.user_id != user_id:
            raise RunNotFoundError(run_id=run_id)
        check_here(record)
        number = await self._say(run_id, encode_entry(words), blobs_in(words))
        if number is None:
            raise unheard(await self.get(run_id))
        return number

    @abstractmethod
    async def unsay(self, run_id: str, number: int) -> bool:
        """Take back words that still wait for a run; returns whether they did."""

    @abstractmethod
    async def _say(self, run_id: str, payload: bytes, blobs: Sequence[Blob]) -> int | None:
        """Add words; returns their number, or ``None`` if the run is over for good or too many words wait."""

    # Lifetime ---------------------------------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Let go of files and connections."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
