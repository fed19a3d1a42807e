"""What a journal stores beside the entries: runs, leases and approvals."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from enum import StrEnum
from types import TracebackType
from typing import Any, NamedTuple

from msgspec import Struct, field

from maverick.exceptions import InvalidInputError, LeaseLostError, RunMovedError
from maverick.loop.entries import Entry, Said
from maverick.model import Blob


class RunStatus(StrEnum):
    """The status of a run."""

    RUNNING = "running"
    """It is in progress, or its process died and it can be resumed."""
    WAITING = "waiting"
    """It waits for a person's decision."""
    COMPLETE = "complete"
    """It ended with an answer."""
    STOPPED = "stopped"
    """It ended without one."""


ENDED = (RunStatus.COMPLETE, RunStatus.STOPPED)
"""The statuses of a run that has ended."""
UNFINISHED = (RunStatus.RUNNING, RunStatus.WAITING)
"""The statuses of a run that is in progress, or waits; sooner or later it takes in what is said to it."""
DAMAGED = "damaged"
"""The reason of a run that was partly recovered from a damaged journal."""
MOST_WAITING = 100
"""How many words may wait for one run."""

RUN_COLUMNS = "run_id, agent, status, reason, parent, user_id, forked_from, created_at, updated_at, entries"
"""The columns of a run that are fields of its record; ``entries`` is the last."""


class RunRecord(Struct, frozen=True, kw_only=True):
    """A run, as a list of runs shows it."""

    run_id: str
    """The id of the run."""
    agent: str
    """The path of agent names, joined by ``/``."""
    status: RunStatus
    """Whether it is in progress, and else how it ended."""
    created_at: float
    """When it began, in seconds since the epoch."""
    updated_at: float
    """When its last entry was written."""
    entries: int
    """How many entries it has."""
    parent: str | None = None
    """The run that called it as a subagent."""
    user_id: str | None = None
    """The user it acts for, if any."""
    reason: str = ""
    """Why it ended."""
    forked_from: str | None = None
    """The run that it began as a copy of, if any."""

    def __post_init__(self) -> None:
        for name in ("run_id", "agent", "parent", "user_id", "reason", "forked_from"):
            value = getattr(self, name)
            if value is not None and not _is_storable(value):
                problem = f"{name}: expected text without NUL characters and lone surrogates, got {value!r}."
                raise InvalidInputError(problem, field=name)


class Departure(NamedTuple):
    """Where a run went that is no longer to be resumed here, as the reason of its record says."""

    target: str
    status: RunStatus
    """The status that it has there."""
    reason: str
    arrived: bool
    """Whether it is known to be there; else the move was interrupted, and is to be repeated."""

    @classmethod
    def of(cls, record: RunRecord) -> Departure | None:
        """Where a run went; ``None`` if it is here."""
        found = re.fullmatch(_DEPARTED, record.reason)
        if found is None:
            return None
        return cls(found["target"], RunStatus(found["status"]), found["reason"], found["how"] == "moved")

    def __str__(self) -> str:
        was = f"{self.status.value} {self.reason}".rstrip()
        return f"{'moved' if self.arrived else 'moving'} ({was}) to {self.target}"


_DEPARTED = rf"(?P<how>moving|moved) \((?P<status>{'|'.join(RunStatus)}) ?(?P<reason>\w*)\) to (?P<target>.+)"


def is_moving(record: RunRecord) -> bool:
    """Whether a run is on its way to another journal, and may not have arrived."""
    departure = Departure.of(record)
    return departure is not None and not departure.arrived


def check_here(record: RunRecord) -> None:
    """Make sure that a run was not moved to another journal; raises RunMovedError if it was."""
    if (departure := Departure.of(record)) is not None:
        went = "was moved" if departure.arrived else "is being moved"
        then = (
            "Continue it there"
            if departure.arrived
            else "If that was interrupted, repeat `maverick runs move`"
        )
        raise RunMovedError(
            f"The run {record.run_id!r} {went} to {departure.target}. {then}.",
            run_id=record.run_id,
            moved_to=departure.target,
        )


class Lease(Struct):
    """The right to write a run. Claiming the run again voids every older lease (the fencing token).

    It ends with the first write that fails. After it, it is unknown what the journal holds, and another
    write could leave a gap in the run or write something twice. Claiming the run again settles both.
    """

    run_id: str
    token: int
    ended: bool = False

    def __enter__(self) -> None:
        """Write something under the lease; if that fails, the lease has ended. One that had ended is a ``LeaseLostError``."""
        self.check()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A cancelled caller is told only after the write was made.
        if kind is not None and not issubclass(kind, asyncio.CancelledError):
            self.ended = True

    def check(self) -> None:
        """Make sure that the lease has not ended; raises LeaseLostError if it has."""
        if self.ended:
            raise LeaseLostError(
                f"An earlier write of the run {self.run_id!r} failed, so this process can no longer write to it. "
                "Resume the run: it continues from what is stored.",
                run_id=self.run_id,
            )


class Append(Struct, frozen=True):
    """Entries to add to a run whose lease is held."""

    lease: Lease
    payloads: Sequence[bytes]
    status: RunStatus = RunStatus.RUNNING
    reason: str = ""
    blobs: Sequence[Blob] = ()
    """The blobs they name that may not be stored yet."""
    listens: bool = False
    """Whether nothing is to be added if words wait for the run."""
    heard: int = 0
    """The number of the words that are among the entries, and no longer wait; 0 if none are."""

    @property
    def most_words(self) -> int:
        """How many words may wait for the run when it is written to."""
        return 0 if self.listens else MOST_WAITING


class Words(Struct, frozen=True):
    """Words that wait for a run to take them in."""

    number: int
    said: Said


class StoredEntry(Struct, frozen=True):
    """An entry and its place in the run."""

    seq: int
    entry: Entry


class ApprovalStatus(StrEnum):
    """What became of a request for approval."""

    PENDING = "pending"
    """No one has decided yet."""
    APPROVED = "approved"
    """The call may run."""
    DENIED = "denied"
    """The call may not run."""
    USED = "used"
    """The decision was taken into the run; it counts once."""


class Approval(Struct, frozen=True, kw_only=True):
    """A request for a person's decision, bound to exactly one call (promise P7)."""

    approval_id: str
    """The id to decide with."""
    run_id: str
    """The run that waits."""
    turn: int
    """The turn of the call."""
    index: int
    """Which call of that turn."""
    tool_name: str
    """The tool that is to be called."""
    arguments_json: str = field(name="arguments")
    """The arguments as JSON."""
    arguments_hash: str
    """Binds the decision to these arguments."""
    tool_hash: str
    """Binds the decision to the tool as it was described."""
    user_id: str | None
    """The user the run acts for; only that user's decision counts, when there is one."""
    requested_at: float
    """When it was asked for, in seconds since the epoch."""
    expires_at: float | None
    """When it can no longer be decided; ``None`` is never."""
    status: ApprovalStatus
    """Whether it was decided, and how."""
    question: str = ""
    """Why a person is asked; empty when the tool always wants it and does not say why."""
    approved: bool = False
    """Whether the call may run."""
    decided_by: str = ""
    """Who decided; empty while no one has."""
    decided_at: float | None = None
    """When it was decided, in seconds since the epoch."""
    reason: str = ""
    """Why, if they said so; the model reads it when the call is denied."""
    edited_json: str = field(name="edited", default="")
    """The arguments that it was approved with, as JSON, if they are others."""
    edited_hash: str = ""
    """Binds them to the call that was asked about."""
    has_rule: bool = False
    """Whether the run's executor says who may decide (``may_approve``); else the run's own user does."""

    @property
    def edited_arguments(self) -> dict[str, Any] | None:
        """The arguments that it was approved with, if they are not those of the call."""
        return json.loads(self.edited_json) if self.edited_json else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the call."""
        found: dict[str, Any] = json.loads(self.arguments_json)
        return found


class RunCopy(Struct, frozen=True):
    """A run with all that belongs to it, to be added to another journal."""

    record: RunRecord
    payloads: Sequence[bytes]
    blobs: Sequence[Blob]
    words: Sequence[bytes]
    approvals: Sequence[Approval]


def _is_storable(text: str) -> bool:
    """Whether every store can keep a text as a column; what entries hold is not limited like this."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
