"""What the loop asks its driver to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from maverick.loop.limits import Limits
from maverick.loop.result import AgentResult
from maverick.model import Request, ToolCall

if TYPE_CHECKING:
    from maverick.loop.round import ToolRound


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
    begun: bool = False
    """Whether it was refused only after it had begun, in a process that stopped: it may have taken effect."""


class RunTools(Struct, frozen=True):
    """Run the calls, in parallel, and report one :class:`ToolFinished` for each."""

    turn: int
    tools: ToolRound
    """The round they are part of; the calls are looked up there, so that a step costs nothing to make."""

    @property
    def calls(self) -> tuple[PlannedCall, ...]:
        """All calls of the turn."""
        return self.tools.calls


class AwaitApproval(Struct, frozen=True):
    """Ask a person about each of these calls and report :class:`ApprovalDecided`."""

    turn: int
    tools: ToolRound

    @property
    def first(self) -> PlannedCall:
        """The call to ask about next."""
        return self.tools.planned(self.tools.waiting[0])

    @property
    def calls(self) -> tuple[PlannedCall, ...]:
        """All calls that wait for a decision."""
        return tuple(self.tools.planned(index) for index in self.tools.waiting)


class Finish(Struct, frozen=True):
    """The run is over."""

    result: AgentResult[Any]


Step: TypeAlias = CallModel | RunTools | AwaitApproval | Finish
