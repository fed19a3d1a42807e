"""The inputs of an agent, and the prompt templates they are put into.

A template has ``${variable}`` places. Values are put in once, as they are: a value that itself contains ``${…}`` is not
looked at again, so an input can never reach a variable. ``$${`` stands for a plain ``${``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from maverick.exceptions import InvalidInputError, describe_unknown
from maverick.model import Message, Part, Text


class _Required:
    """Marks an input without a default."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()


@dataclass(frozen=True, slots=True)
class Input:
    """One input of an agent.

    Args:
        type: Its type; values are checked against it.
        description: What it is, for people and for agents that use this one as a tool.
        default: Its value when none is given; without one the input is required.
    """

    type: Any = str
    description: str = ""
    default: Any = REQUIRED
    _validator: Any = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.type is not str:
            object.__setattr__(self, "_validator", _validator_of(self.type))
        if self.default is not REQUIRED:
            object.__setattr__(self, "default", self.check("default", self.default))

    def check(self, name: str, value: object) -> object:
        """The value as the declared type.

        Raises:
            InvalidInputError: It is not of that type.
        """
        if self._validator is None:
            return value if isinstance(value, str) else str(value)
        from pydantic import ValidationError

        try:
            return self._validator.validate_python(value)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"]
            raise InvalidInputError(
                f"inputs.{name}: {problem}, got {value!r}.", field=f"inputs.{name}"
            ) from error

    @property
    def validator(self) -> Any:  # noqa: ANN401 - Pydantic's TypeAdapter, which is loaded only if a type needs it
        """What checks values that are not text."""
        return self._validator


def inputs_schema(declared: Mapping[str, Input]) -> dict[str, Any]:
    """The JSON Schema of all inputs together, for agents that are used as tools."""
    typed = {name: spec.validator for name, spec in declared.items() if spec.validator is not None}
    schemas: dict[str, Any] = {name: {"type": "string"} for name in declared}
    shared: dict[str, Any] = {}
    if typed:
        from pydantic import TypeAdapter

        found, shared = TypeAdapter.json_schemas([(name, "validation", typed[name]) for name in typed])
        schemas |= {name: dict(schema) for (name, _), schema in found.items()}
    for name, spec in declared.items():
        if spec.description:
            schemas[name]["description"] = spec.description
        if spec.default is not REQUIRED:
            default = spec.default
            schemas[name]["default"] = (
                default if name not in typed else typed[name].dump_python(default, mode="json")
            )
    return {
        "type": "object",
        "properties": schemas,
        "required": [name for name, spec in declared.items() if spec.default is REQUIRED],
        "additionalProperties": False,
        **shared,
    }


def _validator_of(kind: Any) -> object:  # noqa: ANN401 - any type, or something that is not one
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        validator: TypeAdapter[Any] = TypeAdapter(kind)
        validator.json_schema()
    except (PydanticUserError, NameError) as error:
        raise InvalidInputError(
            f"input_config.inputs: {kind!r} is not a type an input can have.",
            field="input_config.inputs",
            cause=error,
        ) from error
    return validator


def bind_inputs(declared: Mapping[str, Input], given: Mapping[str, Any]) -> dict[str, object]:
    """Match the given values with the declared inputs.

    Raises:
        InvalidInputError: One is missing, unknown or of the wrong type; its message names it.
    """
    for name in given:
        if name not in declared:
            raise InvalidInputError(
                f"inputs: {describe_unknown('input', name, list(declared))}", field=f"inputs.{name}"
            )
    missing = sorted(
        name for name, spec in declared.items() if name not in given and spec.default is REQUIRED
    )
    if missing:
        raise InvalidInputError(
            f"inputs: {', '.join(missing)} missing. Pass inputs={{{missing[0]!r}: …}}.",
            field=f"inputs.{missing[0]}",
        )
    return {
        name: spec.check(name, given[name]) if name in given else spec.default
        for name, spec in declared.items()
    }


_PLACE = re.compile(r"\$(\$)?\{([^}]*)\}?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOTHING = Text("")


class Template:
    """A text with variables."""

    __slots__ = ("_pieces", "variables")

    def __init__(self, text: str, field: str) -> None:
        pieces: list[tuple[str, str | None]] = []
        end = 0
        for place in _PLACE.finditer(text):
            escaped, name = place.groups()
            if escaped:
                pieces.append((text[end : place.start()] + place.group()[1:], None))
            elif place.group().endswith("}") and _NAME.fullmatch(name):
                pieces.append((text[end : place.start()], name))
            else:
                raise InvalidInputError(
                    f"{field}: {place.group()!r} is not a variable. Write ${{name}}, with letters, digits and "
                    "underscores, or $${ for a plain ${.",
                    field=field,
                )
            end = place.end()
        pieces.append((text[end:], None))
        self._pieces = pieces
        self.variables = frozenset(name for _, name in pieces if name is not None)

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with each value in its place."""
        return "".join(
            text if name is None else f"{text}{values[name]}"  # every variable was checked before
            for text, name in self._pieces
        )


class MessageTemplate:
    """A first message of a conversation whose text has variables."""

    __slots__ = ("_message", "_parts", "variables")

    def __init__(self, message: str | Message, field: str) -> None:
        self._message = Message.user(message) if isinstance(message, str) else message
        self._parts: tuple[Part | Template, ...] = tuple(
            Template(part.text, field) if isinstance(part, Text) else part for part in self._message.parts
        )
        self.variables = frozenset[str]().union(
            *(part.variables for part in self._parts if isinstance(part, Template))
        )

    def render(self, values: Mapping[str, Any]) -> Message:
        """The message with each value in its place."""
        message = self._message
        rendered = (Text(part.render(values)) if isinstance(part, Template) else part for part in self._parts)
        return Message(
            message.role,
            [part for part in rendered if part != _NOTHING],
            tool_call_id=message.tool_call_id,
            is_error=message.is_error,
        )
