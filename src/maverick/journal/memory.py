"""Runs in memory: gone with the process, and otherwise like any other store."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from maverick.exceptions import ApprovalError, LeaseLostError, RunExistsError, RunNotFoundError
from maverick.journal.codec import VERSION
from maverick.journal.records import (
    MOST_WAITING,
    UNFINISHED,
    Append,
    Approval,
    ApprovalStatus,
    Departure,
    Lease,
    RunCopy,
    RunRecord,
    RunStatus,
)
from maverick.journal.store import Journal
from maverick.journal.words import RESUMABLE_REASONS
from maverick.model import Blob


class _KeptRun:
    __slots__ = ("blobs", "payloads", "record", "token", "words")

    def __init__(self, record: RunRecord, token: int = 1) -> None:
        self.record = record
        self.payloads: list[bytes] = []
        self.blobs: dict[str, bytes] = {}
        self.words: dict[int, bytes] = {}
        self.token = token


class MemoryJournal(Journal):
    """A journal for tests and for runs that do not have to outlive the process."""

    def __init__(self) -> None:
        self._runs: dict[str, _KeptRun] = {}
        self._approvals: dict[str, Approval] = {}
        self._said = 0

    async def create(
        self,
        record: RunRecord,
        payloads: Sequence[bytes],
        caller: Lease | None = None,
        blobs: Sequence[Blob] = (),
    ) -> Lease:
        """Add a run with its first entries."""
        self._check_held(caller)
        if record.run_id in self._runs:
            raise RunExistsError(run_id=record.run_id)
        kept = self._runs[record.run_id] = _KeptRun(record)
        kept.payloads += payloads
        self._keep(kept, blobs)
        kept.record = replace(record, entries=len(kept.payloads))
        return Lease(record.run_id, kept.token)

    async def claim(self, run_id: str, caller: Lease | None = None) -> Lease:
        """Take the lease on a run."""
        self._check_held(caller)
        for relative in self._family(run_id):
            self._runs[relative].token += 1
        return Lease(run_id, self._runs[run_id].token)

    async def _append(self, append: Append) -> tuple[int, bytes] | None:
        kept = self._leased(append.lease)
        if append.listens and kept.words:
            return next(iter(kept.words.items()))
        kept.words.pop(append.heard, None)
        kept.payloads += append.payloads
        self._keep(kept, append.blobs)
        kept.record = replace(
            kept.record,
            status=append.status,
            reason=append.reason,
            updated_at=time.time(),
            entries=len(kept.payloads),
        )
        return None

    async def get(self, run_id: str) -> RunRecord:
        """What is known of a run."""
        return self._kept(run_id).record

    async def list_runs(
        self, *, status: RunStatus | None = None, parent: str | None = None, limit: int = 100
    ) -> list[RunRecord]:
        """Runs, newest first."""
        found = [
            kept.record
            for kept in self._runs.values()
            if kept.record.parent == parent and status in (None, kept.record.status)
        ]
        return sorted(found, key=lambda record: (-record.created_at, record.run_id))[:limit]

    async def run_ids(self) -> list[str]:
        """The ids of all runs."""
        return list(self._runs)

    async def read_page(self, run_id: str, after: int, limit: int) -> list[tuple[int, int, bytes]]:
        """A page of entries."""
        kept = self._runs.get(run_id)
        page = [] if kept is None else kept.payloads[after : after + limit]
        return [(after + offset, VERSION, payload) for offset, payload in enumerate(page, start=1)]

    async def delete(self, run_id: str) -> int:
        """Remove a run and its subagents' runs."""
        removed = self._family(run_id)
        for key in removed:
            del self._runs[key]
        self._approvals = {key: kept for key, kept in self._approvals.items() if kept.run_id not in removed}
        return len(removed)

    async def receive(self, copies: Sequence[RunCopy]) -> None:
        """Add a run and its subagents' runs as another journal had them."""
        run_id, token = copies[0].record.run_id, 1
        if run_id in self._runs:
            if Departure.of(self._runs[run_id].record) is None:
                raise RunExistsError(run_id=run_id)
            token += max(self._runs[key].token for key in self._family(run_id))
            await self.delete(run_id)
        for copy in copies:
            kept = self._runs[copy.record.run_id] = _KeptRun(copy.record, token)
            kept.payloads += copy.payloads
            self._keep(kept, copy.blobs)
            for payload in copy.words:
                self._said += 1
                kept.words[self._said] = payload
            self._approvals |= {approval.approval_id: approval for approval in copy.approvals}

    async def waiting_words(self, run_id: str) -> list[bytes]:
        """The words that wait for a run."""
        return list(self._kept(run_id).words.values())

    async def blob_names(self, run_id: str) -> list[str]:
        """The hashes of the blobs that a run names."""
        return sorted(self._runs[run_id].blobs) if run_id in self._runs else []

    async def _read_blob(self, sha256: str) -> bytes | None:
        return next((kept.blobs[sha256] for kept in self._runs.values() if sha256 in kept.blobs), None)

    async def unsay(self, run_id: str, number: int) -> bool:
        """Take back words that still wait for a run."""
        return self._kept(run_id).words.pop(number, None) is not None

    async def _say(self, run_id: str, payload: bytes, blobs: Sequence[Blob]) -> int | None:
        kept = self._kept(run_id)
        hears = kept.record.status in UNFINISHED or kept.record.reason in RESUMABLE_REASONS
        if not hears or len(kept.words) >= MOST_WAITING:
            return None
        self._said += 1
        kept.words[self._said] = payload
        self._keep(kept, blobs)
        return self._said

    async def _request_approvals(self, lease: Lease, approvals: Sequence[Approval]) -> None:
        kept = self._leased(lease)
        for approval in approvals:
            self._approvals.setdefault(approval.approval_id, approval)
        kept.record = replace(kept.record, status=RunStatus.WAITING, updated_at=time.time())

    async def get_approval(self, approval_id: str) -> Approval:
        """One request."""
        if approval_id not in self._approvals:
            raise ApprovalError(approval_id=approval_id)
        return self._approvals[approval_id]

    async def _list_approvals(
        self, run_id: str | None, user_id: str | None, status: ApprovalStatus | None
    ) -> list[Approval]:
        found = [
            approval
            for approval in self._approvals.values()
            if run_id in (None, approval.run_id)
            and user_id in (None, approval.user_id)
            and status in (None, approval.status)
        ]
        return sorted(found, key=lambda approval: (approval.requested_at, approval.approval_id))

    async def settle_approval(
        self, approval: Approval, expected: ApprovalStatus, lease: Lease | None = None
    ) -> bool:
        """Replace a request by its new state, unless it was decided meanwhile."""
        self._check_held(lease)
        current = self._approvals.get(approval.approval_id)
        if current is None or current.status is not expected:
            return False
        self._approvals[approval.approval_id] = approval
        return True

    def _keep(self, kept: _KeptRun, blobs: Sequence[Blob]) -> None:
        kept.blobs |= {blob.sha256: blob.data for blob in blobs}

    def _kept(self, run_id: str) -> _KeptRun:
        if run_id not in self._runs:
            raise RunNotFoundError(run_id=run_id)
        return self._runs[run_id]

    def _family(self, run_id: str) -> list[str]:
        """A run and its subagents' runs."""
        self._kept(run_id)
        family = [run_id]
        for caller in family:  # the list grows by those found
            family += [key for key, kept in self._runs.items() if kept.record.parent == caller]
        return family

    def _check_held(self, lease: Lease | None) -> None:
        if lease is not None:
            self._leased(lease)

    def _leased(self, lease: Lease) -> _KeptRun:
        kept = self._runs.get(lease.run_id)
        if kept is None or kept.token != lease.token:
            raise LeaseLostError(run_id=lease.run_id)
        return kept
