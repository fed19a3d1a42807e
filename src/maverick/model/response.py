"""What a model answers in one turn, whole or as it arrives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from maverick.model.message import Message, Opaque, Part, Role, ToolCall, parts_of, text_of
from maverick.model.usage import Usage


class StopReason(StrEnum):
    """Why the model stopped."""

    COMPLETE = "complete"
    """It finished."""
    TOOL_USE = "tool_use"
    """It asks for tools to run."""
    MAX_TOKENS = "max_tokens"
    """It ran into the token limit; the answer is cut off."""
    REFUSAL = "refusal"
    """It declined to answer."""
    PAUSE = "pause"
    """It paused a long turn and expects to be asked to continue."""
    CONTEXT_OVERFLOW = "context_overflow"
    """The context window filled up while it answered."""
    COMPACTION = "compaction"
    """It compacted the conversation, as the request asked; the answer is the block that stands for it."""


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, init=False)
class Response:
    """One answer: its parts in order, what it used, and why it ended.

    Args:
        content: The text, or all parts in order.
        tool_calls: Tool calls to add after the content.
        usage: What it used.
        stop_reason: Why it ended; by default ``TOOL_USE`` when it asks for tools, else ``COMPLETE``.
        model: The model that answered.
        request_id: The provider's id of the exchange, for support requests.
    """

    parts: tuple[Part, ...]
    """What the model answered, in order."""
    usage: Usage
    stop_reason: StopReason
    model: str
    request_id: str

    def __init__(
        self,
        content: str | Iterable[str | Part] = "",
        tool_calls: Iterable[ToolCall] = (),
        usage: Usage = NO_USAGE,
        stop_reason: StopReason | None = None,
        *,
        model: str = "",
        request_id: str = "",
    ) -> None:
        parts = parts_of(content) + tuple(tool_calls)
        if stop_reason is None:
            wants_tools = any(type(part) is ToolCall for part in parts)
            stop_reason = StopReason.TOOL_USE if wants_tools else StopReason.COMPLETE
        set_field = object.__setattr__
        set_field(self, "parts", parts)
        set_field(self, "usage", usage)
        set_field(self, "stop_reason", stop_reason)
        set_field(self, "model", model)
        set_field(self, "request_id", request_id)

    def with_parts(self, parts: Iterable[Part]) -> Response:
        """The same answer, made of other parts."""
        return Response(parts, (), self.usage, self.stop_reason, model=self.model, request_id=self.request_id)

    @property
    def content(self) -> str:
        """The text of the answer, without thoughts and tool calls."""
        return text_of(self.parts)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools the model asks to run, in order."""
        return tuple([part for part in self.parts if type(part) is ToolCall])

    @property
    def message(self) -> Message:
        """The answer as a message of the conversation."""
        return Message.of_parts(Role.ASSISTANT, self.parts)


class TextDelta(Struct, frozen=True):
    """A piece of the answer's text."""

    text: str
    """The next piece of the answer."""


class ThinkingDelta(Struct, frozen=True):
    """A piece of the model's thinking."""

    text: str
    """The next piece of the thinking."""


StreamItem: TypeAlias = TextDelta | ThinkingDelta | Opaque | Response
"""What a stream yields: deltas and the provider's own blocks, then the whole :class:`Response` as its last item."""
