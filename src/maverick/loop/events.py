"""The events of a run: what its observers see while it is in progress.

The seed's seven are ``TurnStart``, ``Thinking``, ``ToolCallStart``, ``ToolCallEnd``, ``ContentChunk``, ``TurnEnd`` and
``ErrorEvent``; the others report the run as a whole, retries, approvals, usage and compaction.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeAlias

from msgspec import Struct
from typing_extensions import TypeVar

from maverick.exceptions import AgentError
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import AgentResult, ToolOutcome
from maverick.model import Part, ToolCall, Usage
from maverick.model.server_tools import Citation, ServerToolUse

T = TypeVar("T", default=Any)


class ActivityEvent(Struct, frozen=True, kw_only=True):
    """Something an observer may want to know: what all events have. Annotate with :data:`AgentActivityEvent`."""

    type: ClassVar[str]
    """The name of its kind, as front ends get it."""

    run_id: str
    """The run it belongs to."""
    trace_id: str
    """The trace it belongs to, for logs and OpenTelemetry."""
    at: float
    """When it happened, in seconds since the epoch."""
    agent: tuple[str, ...]
    """The path of agent names, outermost first; a subagent's has more than one."""


class RunStart(ActivityEvent, frozen=True, kw_only=True):
    """A run began."""

    type: ClassVar[str] = "run_start"


class RunResumed(ActivityEvent, frozen=True, kw_only=True):
    """A run was resumed where it had stopped."""

    type: ClassVar[str] = "run_resumed"


class TurnStart(ActivityEvent, frozen=True, kw_only=True):
    """A turn began: the model is called."""

    type: ClassVar[str] = "turn_start"
    turn_number: int
    """Which turn of the run, from 1."""


class Thinking(ActivityEvent, frozen=True, kw_only=True):
    """Some of the model's thinking."""

    type: ClassVar[str] = "thinking"
    content: str
    """The next piece of it."""


class ContentChunk(ActivityEvent, frozen=True, kw_only=True):
    """Some of the model's answer."""

    type: ClassVar[str] = "content_chunk"
    content: str
    """The next piece of it."""


class ToolCallStart(ActivityEvent, frozen=True, kw_only=True):
    """A tool call begins."""

    type: ClassVar[str] = "tool_call_start"
    tool_call: ToolCall
    """The tool's name, and the arguments that the model gave."""


class ToolCallEnd(ActivityEvent, frozen=True, kw_only=True):
    """A tool call has its result."""

    type: ClassVar[str] = "tool_call_end"
    tool_call_id: str
    """The id of the call that it answers."""
    result: str
    """The result as text, as the model gets it."""
    outcome: ToolOutcome
    """What became of the call."""
    duration_ms: int
    """How long it took."""
    data: dict[str, Any] | None = None
    """The result as JSON values, from tools that return a ``StructuredResult``."""
    parts: tuple[Part, ...] = ()
    """The result as the model gets it, when it is more than text: images, documents."""

    @property
    def is_error(self) -> bool:
        """Whether the tool did not do what was asked."""
        return self.outcome is not ToolOutcome.FINISHED


class ServerToolUsed(ActivityEvent, frozen=True, kw_only=True):
    """The provider used a tool of its own, such as a web search, or that failed."""

    type: ClassVar[str] = "server_tool_used"
    use: ServerToolUse
    """Which tool, with what, and what it gave."""


class SourcesCited(ActivityEvent, frozen=True, kw_only=True):
    """An answer cites sources; it comes after the answer."""

    type: ClassVar[str] = "sources_cited"
    citations: tuple[Citation, ...]
    """What is cited, and where in the answer."""


class TurnEnd(ActivityEvent, frozen=True, kw_only=True):
    """A turn ended: the answer is there and its tools have run."""

    type: ClassVar[str] = "turn_end"
    turn_number: int
    """Which turn of the run, from 1."""


class ErrorEvent(ActivityEvent, frozen=True, kw_only=True):
    """Something went wrong. The run may continue: a ``RetryScheduled`` or ``RunEnd`` follows."""

    type: ClassVar[str] = "error"
    error: AgentError
    """What went wrong, and whether it may be tried again."""


class RetryScheduled(ActivityEvent, frozen=True, kw_only=True):
    """The model call is tried again; chunks of this turn seen so far are void."""

    type: ClassVar[str] = "retry_scheduled"
    attempt: int
    """The number of the attempt to come."""
    delay: float
    """Seconds until then, before jitter."""


class ApprovalRequested(ActivityEvent, frozen=True, kw_only=True):
    """A tool call waits for a person's decision."""

    type: ClassVar[str] = "approval_requested"
    tool_call: ToolCall
    """The call that waits."""
    reason: str = ""
    """Why a person is asked; empty when the tool always needs approval."""
    approval_id: str = ""
    """The id to decide with, such as ``executor.approve(event.approval_id, by=…)``."""


class ApprovalGiven(ActivityEvent, frozen=True, kw_only=True):
    """A person decided on a tool call."""

    type: ClassVar[str] = "approval_given"
    tool_call_id: str
    """The call that was decided on."""
    approved: bool
    """Whether it may run."""
    by: str
    """Who decided."""
    reason: str = ""
    """Why, if they said so."""
    arguments: dict[str, Any] | None = None
    """The arguments they approved in place of the model's, if they did."""


class UsageUpdated(ActivityEvent, frozen=True, kw_only=True):
    """A model call was counted."""

    type: ClassVar[str] = "usage_updated"
    usage: Usage
    """What this call used."""
    total: Usage
    """What the run has used so far, its subagents included."""
    context_tokens: int
    """How much of the context window the conversation takes."""


class Compacted(ActivityEvent, frozen=True, kw_only=True):
    """The older part of the conversation was replaced by a summary."""

    type: ClassVar[str] = "compacted"
    context_tokens: int
    """An estimate of what is left."""
    native: bool = False
    """Whether the provider made the summary itself."""


class PrefixChanged(ActivityEvent, frozen=True, kw_only=True):
    """A request does not extend the one before it: some of it is billed again, and thinking may be left out."""

    type: ClassVar[str] = "prefix_changed"
    reason: PrefixReason
    """What makes it differ."""
    tokens: int
    """About how many tokens are billed again that the provider's cache would have held."""


class PartialOutput(ActivityEvent, frozen=True, kw_only=True):
    """What there is of a typed output while its answer streams; void after a ``RetryScheduled``, like its chunks.

    It comes only with what has changed, after the ``ContentChunk`` that changed it, and not in a replay.
    """

    type: ClassVar[str] = "partial_output"
    output: Any
    """The parts that are valid so far. For a model, a dataclass, a ``TypedDict`` or a JSON Schema: a dict of the fields that
    are there. For any other type: a value of it, such as the whole items of a list. Validators of the model itself, and
    those of ``OutputConfig``, check only the whole output."""


class MessageAdded(ActivityEvent, frozen=True, kw_only=True):
    """A person, or a hook, added a message to the conversation."""

    type: ClassVar[str] = "message_added"
    content: str
    """The message."""


class RunEnd(ActivityEvent, Generic[T], frozen=True, kw_only=True):
    """The run is over. Always the last event of a run; a subagent's has its own output, and a longer ``agent``."""

    type: ClassVar[str] = "run_end"
    result: AgentResult[T]
    """How it ended, with the output."""


AgentActivityEvent: TypeAlias = (
    RunStart
    | RunResumed
    | TurnStart
    | Thinking
    | ContentChunk
    | ToolCallStart
    | ToolCallEnd
    | ServerToolUsed
    | SourcesCited
    | TurnEnd
    | ErrorEvent
    | RetryScheduled
    | ApprovalRequested
    | ApprovalGiven
    | UsageUpdated
    | Compacted
    | PrefixChanged
    | PartialOutput
    | MessageAdded
    | RunEnd[T]
)
"""Any event of a run. ``AgentActivityEvent[Report]`` is one of an agent whose output is a ``Report``: its ``RunEnd`` has an
``AgentResult[Report]``."""
