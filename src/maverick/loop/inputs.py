"""The inputs of an agent, and the prompt templates they are put into.

A template has ``${variable}`` places. Values are put in once, as they are: a value that itself contains ``${…}`` is not
looked at again, so an input can never reach a variable. ``$${`` stands for a plain ``${``. A value that has images or
documents in it divides the text of a message: its parts stand where the variable stood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Any, Final, NoReturn, Union, get_args, get_origin

from maverick.exceptions import InvalidInputError, describe_unknown
from maverick.loop.config import check_type, reject
from maverick.misuse import refuse
from maverick.model import Document, Image, Message, Part, Text


class _Required:
    """Marks an input without a default."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()


class InputParts(tuple[Part, ...]):
    """The value of an input that is not only text. It can stand in a message, and in no other text."""

    __slots__ = ()

    def __format__(self, format_spec: str) -> NoReturn:
        refuse(
            "inputs",
            "an image or a document can stand in the messages of an agent's prompt, and not in its system "
            "prompt or another text.",
        )


@dataclass(frozen=True, slots=True)
class Input:
    """One input of an agent.

    Args:
        type: Its type; values are checked against it. ``Image``, ``Document`` and lists of them and texts are types, too;
            an input that is a ``str`` takes them as well.
        description: What it is, for people and for agents that use this one as a tool.
        default: Its value when none is given; without one the input is required.
    """

    type: Any = str
    description: str = ""
    default: Any = REQUIRED
    validator: Any = field(init=False, repr=False, compare=False, default=None)
    """Pydantic's ``TypeAdapter``, which checks values that are not text; loaded only if the type needs it."""
    _media: tuple[Any, ...] = field(init=False, repr=False, compare=False, default=())
    """The types its parts may have, if its type is not only text."""

    def __post_init__(self) -> None:
        kinds = _plain_types(self.type)
        if Image in kinds or Document in kinds:
            object.__setattr__(self, "_media", tuple(kind for kind in kinds if isinstance(kind, type)))
        elif self.type is not str:
            object.__setattr__(self, "validator", _validator_of(self.type))
        if self.default is not REQUIRED:
            object.__setattr__(self, "default", self.check("default", self.default))

    def check(self, name: str, value: object) -> object:
        """The value as the declared type, or an InvalidInputError if it is not of that type."""
        if self._media:
            several = get_origin(self.type) not in (None, Union, UnionType) and isinstance(
                value, list | tuple
            )
            return _parts(name, value if several else (value,), self._media)
        if self.validator is None:
            if isinstance(value, str):
                return value
            given = value if isinstance(value, list | tuple) else (value,)
            # Bytes and paths are no texts: who gives them beside a text means a file.
            has_media = any(isinstance(part, Image | Document | bytes) for part in given) or (
                given is value and any(isinstance(part, PurePath) for part in given)
            )
            return _parts(name, given, (str, Text, Image, Document)) if has_media else _written(value)
        from pydantic import ValidationError

        try:
            return self.validator.validate_python(value)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"].replace("Input should be", "expected")
            refuse(f"inputs.{name}", f"{problem}, got {value!r}.", error)

    @property
    def takes_text(self) -> bool:
        """Whether a text can be its value."""
        return not self._media or str in self._media

    def read(self, text: str) -> object:
        """What a person typed for it: the text, or the value it is in JSON if the input is not a text."""
        if self.type is str:
            return text
        try:
            return json.loads(text)
        except ValueError:
            return text  # its type may still accept it, and complains if it does not


@dataclass(frozen=True, slots=True)
class InputConfig:
    """The inputs a definition takes: names with a type, a default and a description."""

    inputs: Mapping[str, Input | type]
    """The inputs of the agent, by name."""

    def __post_init__(self) -> None:
        check_type("input_config.inputs", self.inputs, Mapping)
        for name in self.inputs:
            if not isinstance(name, str) or not name.isidentifier():
                reject("input_config.inputs", "names made of letters, digits and '_'", name)
        declared = {
            name: spec if isinstance(spec, Input) else Input(spec) for name, spec in self.inputs.items()
        }
        object.__setattr__(self, "inputs", declared)


def inputs_schema(declared: Mapping[str, Input]) -> dict[str, Any]:
    """The JSON Schema of all inputs together, for agents that are used as tools."""
    if media := next((name for name, spec in declared.items() if not spec.takes_text), None):
        refuse(
            "input_config.inputs",
            f"{media} is an image or a document, and an agent that is the tool of another takes "
            "text only. Let the input be a text, such as the name of a file.",
        )
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


def _plain_types(kind: Any) -> list[Any]:  # noqa: ANN401 - any type, or something that is not one
    """The types that a type is made of: those of ``list[str | Image]`` are ``str`` and ``Image``."""
    return [plain for part in get_args(kind) for plain in _plain_types(part)] or [kind]


def _parts(name: str, given: Any, kinds: tuple[Any, ...]) -> InputParts:  # noqa: ANN401 - a list or a tuple of anything
    """The parts that were given, which are of these types."""
    for part in given:
        if type(part) not in kinds:
            choices = " or ".join(kind.__name__ for kind in kinds if kind is not NoneType)
            file = isinstance(part, bytes | PurePath) and next(
                (k for k in kinds if k in (Image, Document)), None
            )
            hint = f" Make a file a part with {file.__name__}.from_path or .from_bytes." if file else ""
            refuse(f"inputs.{name}", f"expected {choices}, got {type(part).__name__}.{hint}")
    return InputParts(Text(part) if isinstance(part, str) else part for part in given if part is not None)


def _validator_of(kind: Any) -> object:  # noqa: ANN401 - any type, or something that is not one
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        validator: TypeAdapter[Any] = TypeAdapter(kind)
        validator.json_schema()
    except (PydanticUserError, NameError) as error:
        refuse("input_config.inputs", f"{kind!r} is not a type an input can have.", error)
    return validator


def bind_inputs(declared: Mapping[str, Input], given: Mapping[str, Any]) -> dict[str, object]:
    """Match the given values with the declared inputs; one that is missing, unknown or of the wrong type is named."""
    if not isinstance(given, Mapping):
        first = next(iter(declared), "prompt")
        refuse("inputs", f"expected a dictionary, such as inputs={{{first!r}: {given!r}}}, got {given!r}.")
    for name in given:
        if name not in declared:
            text = describe_unknown("input", name, list(declared))
            text += "" if declared else f" Put ${{{name}}} into a prompt where it is to stand."
            raise InvalidInputError(f"inputs: {text}", field=f"inputs.{name}")
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


def _written(value: object) -> str:
    """A value as the text of a prompt: lists, mappings and models as JSON, anything else in its own words."""
    if isinstance(value, InputParts) or not (_is_listed(value) or hasattr(value, "model_dump")):
        return f"{value}"
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError):  # such as a key that JSON has no form for
        return f"{value}"


def _is_listed(value: object) -> bool:
    return isinstance(value, list | tuple | dict | set | frozenset)


def _plain(value: Any) -> object:  # noqa: ANN401 - whatever is in a list
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return list(value) if _is_listed(value) else f"{value}"


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
                refuse(
                    field,
                    f"{place.group()!r} is not a variable. Write ${{name}}, with letters, digits and "
                    "underscores, or $${ for a plain ${.",
                )
            end = place.end()
        pieces.append((text[end:], None))
        self._pieces = pieces
        self.variables = frozenset(name for _, name in pieces if name is not None)

    def render(self, values: Mapping[str, Any]) -> str:
        """The text with each value in its place."""
        return "".join(
            text if name is None else text + _written(values[name])  # every variable was checked before
            for text, name in self._pieces
        )

    def render_parts(self, values: Mapping[str, Any]) -> list[Part]:
        """The text, divided by the values that have images or documents in them."""
        if not any(isinstance(values[name], InputParts) for name in self.variables):
            return [Text(self.render(values))]
        parts: list[Part] = []
        words = ""
        for text, name in self._pieces:
            words += text
            if name is None:
                continue
            if isinstance(value := values[name], InputParts):
                parts += [Text(words), *value]
                words = ""
            else:
                words += _written(value)
        # No provider accepts a text of nothing but spaces.
        return [part for part in [*parts, Text(words)] if not isinstance(part, Text) or part.text.strip()]


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
        rendered = (
            made
            for part in self._parts
            for made in (part.render_parts(values) if isinstance(part, Template) else (part,))
        )
        return Message(
            message.role,
            [part for part in rendered if part != _NOTHING],
            tool_call_id=message.tool_call_id,
            is_error=message.is_error,
        )
