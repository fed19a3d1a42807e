"""What is asked of a model in one turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from maverick.exceptions import InvalidInputError
from maverick.model.message import Message
from maverick.model.tool import Tool

Effort: TypeAlias = Literal["low", "medium", "high", "max"]
ThinkingMode: TypeAlias = Literal["adaptive", "between_tools", "off"] | int
CacheLifetime: TypeAlias = Literal["5m", "1h", "off"]


class RequestConfig(Struct, frozen=True, omit_defaults=True):
    """Settings of one request; each default means "as the client is set up"."""

    max_tokens: int = 0
    """The most tokens the answer may have; 0 is the client's default."""
    temperature: float = -1
    """Sampling temperature; -1 is the client's default."""
    model: str = ""
    """``provider:model``; a client of that provider uses the model, any other its own. Empty is the client's own."""
    effort: Effort | None = None
    """How much work the model puts into an answer."""
    thinking: ThinkingMode | None = None
    """When the model thinks, or for how many tokens at most."""
    stop_sequences: tuple[str, ...] = ()
    """Texts that end the answer."""
    tool_choice: str | None = None
    """``auto``, ``required``, ``none``, or the name of the tool to call."""
    top_p: float | None = None
    """How much of the probability mass the model samples from."""
    cache: CacheLifetime | None = None
    """How long the provider is to keep the prompt in its cache."""
    server_tools: tuple[str | dict[str, Any], ...] = ()
    """Tools that the provider runs itself: names, or their definitions as the provider documents them."""
    extra: dict[str, Any] = {}
    """Fields for the request as the provider names them; one that is set by other means is refused."""

    def __post_init__(self) -> None:
        if not _is_number(self.max_tokens, int) or self.max_tokens < 0:
            raise InvalidInputError(
                f"max_tokens: expected 0 (the default) or more, got {self.max_tokens!r}.", field="max_tokens"
            )
        if not _is_number(self.temperature, int | float) or not (
            self.temperature == -1 or 0 <= self.temperature <= 2
        ):
            raise InvalidInputError(
                f"temperature: expected 0 to 2, or -1 for the default, got {self.temperature!r}.",
                field="temperature",
            )


def _is_number(value: object, kind: type | UnionType) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


class OutputSchema(Struct, frozen=True):
    """The JSON the answer has to be, for providers that can hold the model to it."""

    name: str
    schema: Mapping[str, Any]


DEFAULT_CONFIG = RequestConfig()


class Request(Struct, frozen=True):
    """One turn's question: the whole conversation, the tools on offer and the settings."""

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    config: RequestConfig = DEFAULT_CONFIG
    system: str = ""
    """Instructions that stand above the conversation."""
    output: OutputSchema | None = None
    """What the final answer has to look like; a client without native support ignores it."""
    compact: bool = False
    """Whether the provider is to condense the messages in place of an answer; only for models whose
    :class:`~maverick.model.ModelInfo` says that it can."""
