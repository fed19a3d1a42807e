"""How a run ended: the one result type of every agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, cast, overload

from msgspec import Struct
from typing_extensions import TypeVar

from maverick.exceptions import AgentError
from maverick.misuse import refuse
from maverick.model import Message, Part, Usage

T = TypeVar("T", default=str)


class TerminateReason(StrEnum):
    """Why a run ended."""

    COMPLETE = "complete"
    """The agent gave its final answer."""
    MAX_TURNS = "max_turns"
    """It had as many turns as it may have."""
    TIMEOUT = "timeout"
    """Its time was up."""
    ABORTED = "aborted"
    """It was stopped from outside."""
    MAX_TOTAL_TOKENS = "max_total_tokens"
    """It used as many tokens as it may."""
    MAX_COST = "max_cost"
    """It cost as much as it may."""
    MAX_TOOL_CALLS = "max_tool_calls"
    """It made as many tool calls as it may."""
    MAX_TOKENS = "max_tokens"
    """The final answer itself was cut off at the model's token limit."""
    REFUSED = "refused"
    """The model declined."""
    AWAITING_APPROVAL = "awaiting_approval"
    """A tool call waits for a person's decision."""
    ERROR = "error"
    """Something failed for good; ``AgentResult.error`` says what."""


RESUMABLE = frozenset(TerminateReason) - {
    TerminateReason.COMPLETE,
    TerminateReason.REFUSED,
    TerminateReason.MAX_TOKENS,
}
"""The endings a run can be resumed from: it was stopped, and did not come to an end of its own."""


class ToolOutcome(StrEnum):
    """What became of a tool call. Each call has exactly one."""

    FINISHED = "finished"
    """It ran, and returned a result."""
    FAILED = "failed"
    """It ran, and raised an error."""
    DENIED = "denied"
    """It was not run: not allowed, not known, over a limit, or badly formed."""
    CANCELLED = "cancelled"
    """It was cut short; it may or may not have taken effect."""
    UNKNOWN = "unknown"
    """The process died while it ran; it is not known whether it took effect."""


class ToolRecord(Struct, frozen=True):
    """A tool call of a run, and its one result."""

    call_id: str
    """The id that the model gave the call."""
    tool_name: str
    """The tool that was called."""
    arguments: dict[str, Any]
    """The arguments that it was called with."""
    result: str
    """The result as text, as the model got it."""
    outcome: ToolOutcome
    """What became of the call."""
    duration_ms: int
    """How long it took."""
    turn: int
    """The turn it belongs to, from 1."""
    data: dict[str, Any] | None = None
    """The result as JSON values, from tools that return a ``StructuredResult``."""
    parts: tuple[Part, ...] = ()
    """The result as the model gets it, when it is more than text: images, documents."""


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """What a run used, its subagents included."""

    input_tokens: int
    """Tokens that were sent, cached ones included."""
    output_tokens: int
    """Tokens that were received, thinking included."""
    total_cost_usd: float | None = None
    """What it cost; ``None`` when that is not known."""
    duration_ms: int = cast("int", None)  # required, although it follows a field that is not
    """How long the run took."""
    cache_read_tokens: int = 0
    """Input tokens that came from the provider's cache."""
    cache_write_tokens: int = 0
    """Input tokens that were written to the provider's cache."""

    def __post_init__(self) -> None:
        for name in (
            "input_tokens",
            "output_tokens",
            "duration_ms",
            "cache_read_tokens",
            "cache_write_tokens",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                refuse(name, f"expected an integer, 0 or more, got {value!r}.")
        cost = self.total_cost_usd
        if cost is not None and not (isinstance(cost, int | float) and cost >= 0):
            refuse("total_cost_usd", f"expected a number, 0 or more, or None, got {cost!r}.")

    @classmethod
    def of(cls, usage: Usage, duration_ms: int) -> AgentUsage:
        """The same figures as a model's usage, with the time it took."""
        return cls(
            usage.input_tokens,
            usage.output_tokens,
            usage.cost_usd,
            duration_ms,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        )

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens


class ResultMetadata(dict[str, Any]):
    """What is known of a run besides its answer; an agent that is a class may add keys of its own."""

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: Literal["run_id", "trace_id", "model"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["agent"], /) -> tuple[str, ...]: ...
        @overload
        def __getitem__(self, key: str, /) -> Any: ...  # noqa: ANN401 - whatever an agent has put there
        def __getitem__(self, key: str, /) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult(Generic[T]):
    """How a run ended.

    ``success`` is true only for a run that completed with an output of the declared type; otherwise ``errors``
    has at least one error that says why.

    Raises:
        InvalidInputError: A failure has no error, a success has no output, ``usage`` or ``metadata`` is something else, or
            something in ``errors`` is not an :class:`~maverick.exceptions.AgentError`.
    """

    success: bool
    """Whether the run completed, with a valid output."""
    output: T | None
    """The answer: of the declared type, or the text when none was declared; ``None`` when the run has failed. What there
    was of an answer then is ``raw_content``."""
    metadata: ResultMetadata = field(default_factory=ResultMetadata)
    """``run_id``, ``trace_id``, ``agent`` (the path of names) and ``model``, the one that answered as its provider names it;
    if none has answered, the one that the definition names."""
    errors: list[AgentError] = field(default_factory=list)
    """What went wrong, the first error first."""
    usage: AgentUsage
    """The tokens, the cost and the time it used, subagents included."""
    raw_content: str = ""
    """The final text as the model wrote it; after an interruption, what there was of it."""
    terminate_reason: TerminateReason = TerminateReason.COMPLETE
    """Why the run ended."""
    turn_count: int = 0
    """How many turns it took."""
    messages: Sequence[Message] = field(default=(), repr=False)
    """The whole conversation; every tool call in it has its result."""
    tool_calls: Sequence[ToolRecord] = field(default=(), repr=False)
    """All tool calls of the run, with their results."""
    validated: bool = True
    """Whether ``output`` is of the declared type."""
    earlier: int = field(default=0, repr=False)
    """How many of the messages were there before the run: the conversation it was given."""

    def __post_init__(self) -> None:
        if not isinstance(self.usage, AgentUsage):
            refuse("usage", f"expected an AgentUsage, got {self.usage!r}.")
        if not isinstance(self.metadata, Mapping):
            refuse("metadata", f"expected a mapping, got {self.metadata!r}.")
        if not isinstance(self.errors, Iterable):
            refuse("errors", f"expected a list of AgentErrors, got {self.errors!r}.")
        object.__setattr__(self, "metadata", ResultMetadata(self.metadata))
        object.__setattr__(self, "errors", list(self.errors))
        for error in self.errors:
            if not isinstance(error, AgentError):
                refuse("errors", f"expected AgentErrors, got {error!r}.")
        if not self.success and not self.errors:
            refuse("errors", "a failed result needs at least one error that says why.")
        if self.success and self.output is None and not self.raw_content:  # an answer may be the value `null`
            refuse("output", 'a successful result needs an output, got None. An empty text is "".')

    @property
    def error(self) -> str | None:
        """The message of the first error, if there is one."""
        return str(self.errors[0]) if self.errors else None

    @property
    def new_messages(self) -> Sequence[Message]:
        """What the run has added to the conversation it was given: the prompt, the answers, the results of tools."""
        return self.messages[self.earlier :]

    def unwrap(self) -> T:
        """The output of a successful run.

        Raises:
            AgentError: The run was not successful; it is the first of its errors.
        """
        if not self.success:
            raise self.errors[0]
        return cast("T", self.output)

    @classmethod
    def success_result(
        cls, output: T, usage: AgentUsage, metadata: Mapping[str, Any] | None = None
    ) -> AgentResult[T]:
        """The result of an agent that did its work."""
        return cls(
            success=True,
            output=output,
            usage=usage,
            metadata=ResultMetadata(metadata or {}),
            raw_content=output if isinstance(output, str) else "",
        )

    @classmethod
    def failure_result(
        cls, errors: Iterable[AgentError], usage: AgentUsage, metadata: Mapping[str, Any] | None = None
    ) -> AgentResult[str]:
        """The result of an agent that could not do its work."""
        return AgentResult(
            success=False,
            output="",
            errors=cast("list[AgentError]", errors),  # which the result copies
            usage=usage,
            metadata=ResultMetadata(metadata or {}),
            terminate_reason=TerminateReason.ERROR,
            validated=False,
        )
