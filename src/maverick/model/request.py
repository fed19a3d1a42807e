"""What is asked of a model in one turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from maverick.config.model_settings import (
    EMPTY,
    MODEL_SETTINGS,
    Cache,
    EffortSetting,
    Extra,
    MaxTokens,
    ServerTools,
    StopSequences,
    Temperature,
    Thinking,
    ToolChoice,
    TopP,
    checked,
)
from maverick.model.message import Message
from maverick.model.tool import Tool


class RequestConfig(Struct, frozen=True, omit_defaults=True):
    """Settings of one request; ``None`` and what is empty mean "as the client is set up, or else the provider's default"."""

    max_tokens: MaxTokens = None
    """The most tokens the answer may have; 0 is the default, too."""
    temperature: Temperature = None
    """Sampling temperature; -1 is the default, too."""
    model: str = ""
    """``provider:model``; a client of that provider uses the model, any other its own. Empty is the client's own."""
    effort: EffortSetting = None
    """How much work the model puts into an answer."""
    thinking: Thinking = None
    """When the model thinks, or for how many tokens at most."""
    stop_sequences: StopSequences = ()
    """Texts that end the answer."""
    tool_choice: ToolChoice = None
    """``auto``, ``required``, ``none``, or the name of the tool to call."""
    top_p: TopP = None
    """How much of the probability mass the model samples from."""
    cache: Cache = None
    """How long the provider is to keep the prompt in its cache."""
    server_tools: ServerTools = ()
    """Tools that the provider runs itself: names, or their definitions as the provider documents them."""
    extra: Extra = {}
    """Fields for the request as the provider names them; one that is set by other means is refused."""

    def __post_init__(self) -> None:
        given: dict[str, object] = {}
        for name in MODEL_SETTINGS:
            value = getattr(self, name)
            if value is None:
                if name in EMPTY:
                    force_setattr(self, name, EMPTY[name])
            elif value not in _NOTHING:
                given[name] = value
        if given:
            values = checked(RequestConfig, given)
            for name in given:
                force_setattr(self, name, getattr(values, name))


_NOTHING: tuple[object, ...] = ((), {})


class OutputSchema(Struct, frozen=True):
    """The JSON the answer has to be, for providers that can hold the model to it."""

    name: str
    """What the provider calls it."""
    schema: Mapping[str, Any]
    """The JSON Schema."""

    def as_object(self) -> Mapping[str, Any]:
        """The schema of an object, for providers that take no other: that of a union, a list or a number, as its ``answer``."""
        if self.schema.get("type") == "object":
            return self.schema
        value = {name: part for name, part in self.schema.items() if name != "$defs"}
        wrapped = {"type": "object", "properties": {ANSWER: value}, "required": [ANSWER]}
        return wrapped | {name: self.schema[name] for name in self.schema if name == "$defs"}


ANSWER = "answer"
"""The key of a value that is the only one of an object, since its provider takes nothing but objects."""

DEFAULT_CONFIG = RequestConfig()


class Request(Struct, frozen=True):
    """One turn's question: the whole conversation, the tools on offer and the settings."""

    messages: Sequence[Message]
    """The conversation so far."""
    tools: Sequence[Tool] = ()
    """The tools that the model may call."""
    config: RequestConfig = DEFAULT_CONFIG
    """The settings of the model for this request."""
    system: str = ""
    """Instructions that stand above the conversation."""
    output: OutputSchema | None = None
    """What the final answer has to look like; a client without native support ignores it."""
    compact: bool = False
    """Whether the provider is to compact the messages in place of an answer; only for models whose
    :class:`~maverick.model.ModelInfo` says that it can."""
