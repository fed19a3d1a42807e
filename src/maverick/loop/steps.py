"""What the loop asks its driver to do next."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from maverick.loop.limits import Limits
from maverick.loop.result import AgentResult
from maverick.model import Request, ToolCall


class CallModel(Struct, frozen=True):
    """Call the model and report :class:`ModelReplied` or :class:`ModelFailed`."""

    request: Request
    turn: int
    attempt: int = 1
    delay: float = 0.0
    """Seconds to wait first, before jitter; above 0 for a retry."""
    exact_delay: bool = False
    """Whether the provider named the delay, so that waiting less would be wrong."""
    compaction: bool = False
    """Whether it is the loop's own question, for a summary of the conversation."""


class PlannedCall(Struct, frozen=True):
    """A tool call of a turn, and what is to be done with it."""

    index: int
    call: ToolCall
    refusal: str = ""
    """Why it is not run, in words for the model; such a call gets this as its result."""
    grant: Limits | None = None
    """What it may use, when it is a subagent."""
    question: str | None = None
    """Why a person is asked about it, which may be left unsaid; ``None`` when nobody is."""


class RunTools(Struct, frozen=True):
    """Run the calls, in parallel, and report one :class:`ToolFinished` for each."""

    turn: int
    calls: tuple[PlannedCall, ...]


class AwaitApproval(Struct, frozen=True):
    """Ask a person about each of these calls and report :class:`ApprovalDecided`."""

    turn: int
    calls: tuple[PlannedCall, ...]


class Finish(Struct, frozen=True):
    """The run is over."""

    result: AgentResult[Any]


Step: TypeAlias = CallModel | RunTools | AwaitApproval | Finish
