"""What the loop asks its driver to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from maverick.exceptions import AgentError, RateLimitError, ServerError
from maverick.loop.conversation import has_open_call
from maverick.loop.result import AgentResult, TerminateReason
from maverick.loop.tool_round import PlannedCall, ToolRound
from maverick.model import Request, Role

_LONGEST_WAIT = 30.0


@final
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

    @property
    def listens(self) -> bool:
        """Whether words for the run can be taken in before it.

        Not within a turn that paused, nor while a provider's own tool is at work, nor before a summary.
        """
        messages = self.request.messages
        return not (self.compaction or messages[-1].role is Role.ASSISTANT or has_open_call(messages))

    def retry(self, error: AgentError, first_delay: float) -> CallModel:
        """The next attempt after this one failed: when the provider says, or after a delay that doubles each time."""
        delay, exact = min(first_delay * 2 ** (self.attempt - 1), _LONGEST_WAIT), False
        if isinstance(error, RateLimitError | ServerError) and error.retry_after is not None:
            delay, exact = max(error.retry_after, 0.0), True
        return replace(self, attempt=self.attempt + 1, delay=delay, exact_delay=exact)


@final
class RunTools(Struct, frozen=True):
    """Run the calls, in parallel, and report one :class:`ToolFinished` for each."""

    turn: int
    tools: ToolRound
    """The round they are part of. The calls are looked up there, so that a step costs nothing to make."""

    @property
    def calls(self) -> Sequence[PlannedCall]:
        """All calls of the turn."""
        return self.tools.calls


def approval_id(run_id: str, turn: int, index: int) -> str:
    """The id of the request for a decision on one call; it is the call's own, so asking twice is asking once."""
    return f"{run_id}:{turn}:{index}"


class ReviewCalls(Struct, frozen=True):
    """Ask the hooks about the calls and report :class:`CallsReviewed`."""

    turn: int
    tools: ToolRound

    @property
    def calls(self) -> Sequence[PlannedCall]:
        """The calls that may be run."""
        return [planned for planned in self.tools.calls if not planned.refusal]


class CheckOutput(Struct, frozen=True):
    """Ask the output's validators about an answer and report :class:`OutputChecked`."""

    output: Any


class AwaitApproval(Struct, frozen=True):
    """Ask a person about each of these calls and report :class:`ApprovalDecided`."""

    turn: int
    tools: ToolRound

    @property
    def first(self) -> PlannedCall:
        """The call to ask about next."""
        return self.tools.calls[self.tools.waiting[0]]

    @property
    def calls(self) -> Sequence[PlannedCall]:
        """All calls that wait for a decision."""
        return [self.tools.calls[index] for index in self.tools.waiting]


@final
class Finish(Struct, frozen=True):
    """The run is over."""

    result: AgentResult[Any]

    @property
    def listens(self) -> bool:
        """Whether words for the run can be taken in instead: it ends with an answer, and was not stopped."""
        return self.result.terminate_reason is TerminateReason.COMPLETE


Step: TypeAlias = CallModel | ReviewCalls | RunTools | AwaitApproval | CheckOutput | Finish
