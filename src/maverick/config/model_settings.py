"""The settings of a model: what each may be, wherever it is written.

A definition, a request, a client, a settings file and the environment have the same settings. Their types are here, with
what is expected in words for an error, so that all of them accept and refuse the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta

from maverick.exceptions import InvalidInputError

Effort: TypeAlias = Literal["low", "medium", "high", "max"]
ThinkingMode: TypeAlias = Literal["adaptive", "between_tools", "off"] | Annotated[int, Meta(ge=1)]
CacheLifetime: TypeAlias = Literal["5m", "1h", "off"]

MaxTokens = Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="a positive whole number")]
Temperature = Annotated[Annotated[float, Meta(ge=0, le=2)] | None, Meta(description="0 to 2")]
EffortSetting = Annotated[Effort | None, Meta(description="'low', 'medium', 'high' or 'max'")]
Thinking = Annotated[
    ThinkingMode | None,
    Meta(description="'adaptive', 'between_tools', 'off', or the most tokens to think for"),
]
StopSequences = Annotated[
    tuple[Annotated[str, Meta(min_length=1)], ...], Meta(description="a list of texts that are not empty")
]
ToolChoice = Annotated[
    Annotated[str, Meta(min_length=1)] | None,
    Meta(description="'auto', 'required', 'none' or the name of a tool"),
]
TopP = Annotated[
    Annotated[float, Meta(gt=0, le=1)] | None, Meta(description="a number above 0, and at most 1")
]
Cache = Annotated[CacheLifetime | None, Meta(description="'5m', '1h' or 'off'")]
ServerTools = Annotated[
    tuple[Annotated[str, Meta(min_length=1)] | dict[str, Any], ...],
    Meta(description="a list of names, or of definitions as the provider documents them"),
]
Extra = Annotated[dict[str, Any], Meta(description="fields of a request by name")]

MODEL_SETTINGS = (
    "max_tokens", "temperature", "effort", "thinking", "stop_sequences", "tool_choice", "top_p", "cache", "server_tools",
    "extra",
)  # fmt: skip
"""The names of these settings; ``None`` is the provider's default for all of them."""

_PATH = r"\$\.(\w+)"
_DEFAULTS: Mapping[str, tuple[object, ...]] = {"max_tokens": (0, "0"), "temperature": (-1, "-1")}
"""Values, also as texts, that stand for the provider's default as ``None`` does."""
EMPTY: Mapping[str, object] = {"stop_sequences": (), "server_tools": (), "extra": {}}
_UNIT_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}
_PART = r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)"
_DURATION = f"(?:{_PART})+"


def parse_duration(text: str) -> float | None:
    """The seconds that a text such as ``90s``, ``5m`` or ``1h30m`` stands for; ``None`` if it is no such text."""
    if not re.fullmatch(_DURATION, text.strip()):
        return None
    return sum(float(amount) * _UNIT_SECONDS[unit] for amount, unit in re.findall(_PART, text))


def normalized(name: str, value: object) -> object:
    """A value as it is kept: what stands for the default is ``None`` or empty, and YAML's ``off`` is ``"off"``."""
    if value is None:
        return EMPTY.get(name)
    if value is False and name in ("thinking", "cache"):
        return "off"
    if name in _DEFAULTS and not isinstance(value, bool) and value in _DEFAULTS[name]:
        return None
    return value


def is_set(value: object) -> bool:
    """Whether a setting says anything, and does not leave it to the provider."""
    return value is not None and value not in ((), {})


@cache
def annotated_settings(owner: type) -> dict[str, tuple[Any, str]]:
    """The fields of a class whose annotation describes what is expected: by name, the type and these words."""
    hints = get_type_hints(owner, include_extras=True)
    described = {name: meta for name, hint in hints.items() for meta in getattr(hint, "__metadata__", ())}
    return {name: (hints[name], meta.description) for name, meta in described.items()}


def checked(owner: type, given: dict[str, object]) -> Any:  # noqa: ANN401 - a struct with these fields
    """The settings that a program has passed, as fields of a struct; an error names one that does not fit."""
    given = {name: normalized(name, value) for name, value in given.items()}
    try:
        return msgspec.convert(given, _struct(owner))
    except (msgspec.ValidationError, OverflowError) as error:
        path = re.search(_PATH, str(error))
        name = path[1] if path is not None and path[1] in given else next(iter(given))
    expected = annotated_settings(owner)[name][1]
    # The values of some may be secret.
    got = f"a {type(given[name]).__name__}" if name in EMPTY else repr(given[name])
    raise InvalidInputError(f"{name}: expected {expected}, or None for the default, got {got}.", field=name)


@cache
def _struct(owner: type) -> type:
    """A struct with the settings of a class: what is checked against it is understood once, and not each time."""
    kinds = annotated_settings(owner).items()
    return msgspec.defstruct(f"{owner.__name__}Settings", [(name, kind, None) for name, (kind, _) in kinds])
