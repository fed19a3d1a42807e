"""Which model answers an agent, and how it is asked; and the checks that all parts of a definition share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from maverick.config.model_settings import MODEL_SETTINGS, CacheLifetime, Effort, ThinkingMode, is_set
from maverick.config.provider_names import model_name_problem
from maverick.exceptions import InvalidInputError
from maverick.model.request import RequestConfig

_NEED_A_MODEL = (
    "cassette:",
    "claude:",
    "claude-sdk:",
    "local:",
    "openai:",
    "openai-chat:",
    "openai-responses:",
)
"""Providers that have several models and choose none by themselves."""


_MOST_SHOWN = 200


def reject(field: str, expected: str, value: object) -> NoReturn:
    """Refuse the value of a field."""
    raise InvalidInputError(f"{field}: expected {expected}, got {shown(value)}.", field=field)


def shown(value: object) -> str:
    """A value as it was written, but not a page of it."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    text = repr(value)
    # What has no form of its own would be shown as an address in memory, and an agent as all of its settings.
    return text if len(text) <= _MOST_SHOWN and " object at 0x" not in text else f"a {type(value).__name__}"


def check_text(field: str, value: object, expected: str = "a non-empty string") -> None:
    """Refuse what is no text, or an empty one."""
    if not isinstance(value, str) or not value.strip():
        reject(field, expected, value)


def check_whole(field: str, value: object, *, minimum: int, optional: bool = False) -> None:
    """Refuse what is no whole number, or too small a one."""
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        reject(field, f"a whole number of at least {minimum}", value)


def check_seconds(field: str, value: object, *, positive: bool = True, optional: bool = False) -> None:
    """Refuse what is no number of seconds."""
    if optional and value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 0 <= cast("float", value) < math.inf) or (positive and value == 0):
        reject(field, f"a number of seconds{' above 0' if positive else ', 0 or more'}", value)


def check_type(field: str, value: object, kind: type, instead: str = "") -> None:
    """Refuse what is of another type.

    Args:
        field: What it was given as.
        value: What was given.
        kind: What is expected.
        instead: How to write it.
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        reject(field, f"{article} {kind.__name__}{instead and f', such as {instead}'}", value)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model answers, and how. ``None`` is what the client is set up with, or else the provider's default."""

    model: str | None = None
    """``provider:model``, such as ``claude:claude-sonnet-5-5``, ``openai:gpt-6.1-sol`` or ``offline:``. By default the client
    decides; an executor without a client connects to the model in the settings."""
    temperature: float | None = None
    """Sampling temperature; -1 is the default, too."""
    max_tokens: int | None = None
    """The most tokens of one answer; 0 is the default, too."""
    context_window: int | None = None
    """How many tokens the model can read; by default what the client knows."""
    request_timeout: float | None = None
    """The seconds that one model call may take from when it is sent; by default the client's own timeouts hold."""
    effort: Effort | None = None
    """How much work the model puts into an answer: ``low``, ``medium``, ``high`` or ``max``."""
    thinking: ThinkingMode | None = None
    """When the model thinks: ``adaptive`` (as it sees fit), ``between_tools`` or ``off``; or for how many tokens at most."""
    stop_sequences: Sequence[str] | None = None
    """Texts that end the answer."""
    tool_choice: str | None = None
    """``auto``, ``required``, ``none``, or the name of the tool to call. A choice that forces a call holds for the first
    turn only."""
    top_p: float | None = None
    """How much of the probability mass the model samples from."""
    cache: CacheLifetime | None = None
    """How long the provider is to keep the prompt in its cache: ``5m``, ``1h`` or ``off``."""
    server_tools: Sequence[str | dict[str, Any]] | None = None
    """Tools that the provider runs itself: names, such as ``web_search``, or definitions as the provider documents them."""
    extra: Mapping[str, Any] | None = None
    """Fields for each request as the provider names them; one that is set by other means is refused."""
    request_config: RequestConfig = field(init=False, repr=False, compare=False)
    """The settings as a request has them."""

    def __post_init__(self) -> None:
        if self.model is not None:
            check_text("model_config.model", self.model)
            if problem := model_name_problem(self.model):
                raise InvalidInputError(f"model_config.model: {problem}", field="model_config.model")
            if self.model in _NEED_A_MODEL:
                reject("model_config.model", f"a model after {self.model!r}", self.model)
        try:
            settings = {name: getattr(self, name) for name in MODEL_SETTINGS}
            config = RequestConfig(model=self.model or "", **settings)
        except InvalidInputError as error:
            raise InvalidInputError(f"model_config.{error}", field=f"model_config.{error.field}") from error
        object.__setattr__(self, "request_config", config)
        for name in MODEL_SETTINGS:
            value = getattr(config, name)
            object.__setattr__(self, name, value if is_set(value) else None)
        check_whole("model_config.context_window", self.context_window, minimum=1000, optional=True)
        check_seconds("model_config.request_timeout", self.request_timeout, optional=True)
