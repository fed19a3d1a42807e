"""What a journal keeps beside the entries: runs, leases and approvals."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from maverick.loop.entries import Entry


class RunStatus(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    """It goes on, or its process died and it can be resumed."""
    WAITING = "waiting"
    """It is parked until a person decides."""
    COMPLETE = "complete"
    """It ended with an answer."""
    STOPPED = "stopped"
    """It ended without one."""


class RunRecord(Struct, frozen=True, kw_only=True):
    """A run, as a list of runs shows it."""

    run_id: str
    agent: str
    """The path of agent names, joined by ``/``."""
    status: RunStatus
    created_at: float
    updated_at: float
    entries: int
    """How many entries it has."""
    parent: str | None = None
    """The run that called it as a subagent."""
    user_id: str | None = None
    reason: str = ""
    """Why it ended."""
    forked_from: str | None = None


class Lease(Struct):
    """The right to write a run. Claiming the run again voids every older lease (the fencing token)."""

    run_id: str
    token: int
    next_seq: int
    """The number the next entry gets; the holder counts."""

    def take(self, count: int) -> int:
        """Take the next numbers; returns the first of them."""
        first = self.next_seq
        self.next_seq += count
        return first


class StoredEntry(Struct, frozen=True):
    """An entry and its place in the run."""

    seq: int
    entry: Entry


class ApprovalStatus(StrEnum):
    """What became of a request for approval."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    USED = "used"
    """The decision was taken into the run; it counts once."""


class Approval(Struct, frozen=True, kw_only=True):
    """A request for a person's decision, bound to exactly one call (promise P7)."""

    approval_id: str
    run_id: str
    turn: int
    index: int
    tool_name: str
    arguments: str
    """The arguments as JSON, for the person to read."""
    arguments_hash: str
    tool_hash: str
    user_id: str | None
    """The user the run acts for; only that user's decision counts, when there is one."""
    requested_at: float
    expires_at: float | None
    status: ApprovalStatus
    approved: bool = False
    decided_by: str = ""
    decided_at: float | None = None
    reason: str = ""
