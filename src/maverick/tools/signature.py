"""A function's signature and docstring as a tool's: what the model may pass, and what checks it."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cached_property
from inspect import getdoc
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from maverick.exceptions import InvalidToolError
from maverick.model import ToolContext

if TYPE_CHECKING:
    from maverick.tools.typed_arguments import TypedArguments


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_FIELD = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_Schema: TypeAlias = dict[str, Any]


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The description of a function and those of its parameters, from Google or reST style."""
    description: list[str] = []
    parameters: dict[str, str] = {}
    section, latest = "", ""
    for line in (getdoc(function) or "").splitlines():
        if heading := _SECTION.match(line):
            section, latest = heading.group(1), ""
        elif entry := _FIELD.match(line.strip()):
            section, latest = "Args", entry.group(1)
            parameters[latest] = entry.group(2)
        elif line.startswith(":"):
            section = "other"
        elif not section:
            description.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            latest = _read_parameter(line, latest, parameters)
    return "\n".join(description).strip(), parameters


def _read_parameter(line: str, latest: str, parameters: dict[str, str]) -> str:
    """Read a line of the Args section; return the parameter it describes."""
    indent = len(line) - len(line.lstrip())
    entry = _PARAMETER.match(line.strip())
    if entry and (indent <= 4 or not latest):
        parameters[entry.group(1)] = entry.group(2)
        return entry.group(1)
    if latest and line.strip():
        parameters[latest] = f"{parameters[latest]} {line.strip()}".strip()
    return latest


class _NotPlainError(Exception):
    """A type that only Pydantic can describe."""


def plain_schema(
    types: Mapping[str, Any], notes: Mapping[str, str], defaults: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The JSON Schema of parameters, or ``None`` if one of them is not plain.

    Plain are ``str``, ``int``, ``float``, ``bool``, lists of plain types, optional plain types, literal strings,
    and typed dicts of plain types. Pydantic takes longer to load than all the rest of a short run.
    """
    if not all(default is None or type(default) in _SCALARS for default in defaults.values()):
        return None
    named: dict[str, _Schema] = {}
    try:
        schema = _object(types, [name for name in types if name not in defaults], named)
    except _NotPlainError:
        return None
    for name, note in notes.items():
        schema["properties"][name] = _in_order({**schema["properties"][name], "description": note})
    for name, default in defaults.items():
        schema["properties"][name]["default"] = default
    return {"$defs": _in_order(named), **schema} if named else schema


def _object(types: Mapping[str, Any], required: Container[str], named: dict[str, _Schema]) -> _Schema:
    properties = {name: _described(hint, named) for name, hint in types.items()}
    needed = [name for name in types if name in required]
    return {
        "additionalProperties": False,
        "properties": properties,
        **({"required": needed} if needed else {}),
        "type": "object",
    }


def _described(hint: Any, named: dict[str, _Schema]) -> _Schema:  # noqa: ANN401 - any annotation
    arguments = get_args(hint)
    match get_origin(hint):
        case None if isinstance(hint, type) and hint in _SCALARS:
            return {"type": _SCALARS[hint]}
        case None if is_typeddict(hint):
            return _typed_dict(hint, named)
        case origin if origin is list and arguments:
            return {"items": _described(arguments[0], named), "type": "array"}
        case origin if origin is Literal and all(type(choice) is str for choice in arguments):
            choices = {"enum": list(arguments)} if len(arguments) > 1 else {"const": arguments[0]}
            return {**choices, "type": "string"}
        case origin if origin in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
            (other,) = (argument for argument in arguments if argument is not NoneType)
            return {"anyOf": [_described(other, named), {"type": "null"}]}
    raise _NotPlainError


def _typed_dict(hint: Any, named: dict[str, _Schema]) -> _Schema:  # noqa: ANN401 - no type of types says it is one
    # Pydantic refuses those of typing itself before Python 3.12, and has its own way with what occurs twice.
    if typing.is_typeddict(hint) or hint.__name__ in named or hasattr(hint, "__pydantic_config__"):
        raise _NotPlainError
    named[hint.__name__] = {}
    try:
        types = get_type_hints(hint, include_extras=True)
    except NameError as error:
        raise _NotPlainError from error
    schema = _object(types, hint.__required_keys__, named)
    if hint.__doc__:
        schema["description"] = inspect.cleandoc(hint.__doc__)
    named[hint.__name__] = _in_order(schema)
    return {"$ref": f"#/$defs/{hint.__name__}"}


def _in_order(schema: _Schema) -> _Schema:
    return dict(sorted(schema.items()))


def is_method(function: Callable[..., Any]) -> bool:
    """Whether a function is defined in a class and takes the instance first; it is a tool of the instance."""
    if not inspect.isfunction(function):
        return False
    _, in_class, _ = function.__qualname__.rpartition("<locals>.")[2].rpartition(".")
    return bool(in_class) and next(iter(inspect.signature(function).parameters), "") == "self"


def _is_context(annotation: Any) -> bool:  # noqa: ANN401 - any annotation
    if get_origin(annotation) in (Union, UnionType):
        arguments = [argument for argument in get_args(annotation) if argument is not NoneType]
        return len(arguments) == 1 and _is_context(arguments[0])
    return ToolContext in (annotation, get_origin(annotation))


class ToolSignature:
    """The parameters of a tool: their JSON Schema and their validator, each built once; an error if there is no schema."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        notes: Mapping[str, str],
        local_names: Mapping[str, Any],
    ) -> None:
        self._name = name
        self.context_name: str | None = None
        """The parameter that takes the :class:`ToolContext`, if there is one."""
        self._types: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        hints = self._hints(function, local_names)
        for parameter in self._parameters(function):
            annotation = hints.get(parameter.name, Any)
            if parameter.name not in hints and parameter.kind in _BY_NAME:
                raise self._refuse(
                    f"its parameter {parameter.name!r} has no type, so the model would not know what to pass. Annotate it, "
                    f"such as {parameter.name}: str"
                )
            if parameter.kind not in _BY_NAME:
                raise self._refuse(
                    f"it cannot take {parameter}: a model gives each argument by name. Write out its parameters, such as "
                    "(city: str, days: int = 1)"
                )
            if _is_context(annotation):
                self.context_name = parameter.name
                continue
            self._types[parameter.name] = annotation
            if parameter.default is not parameter.empty:
                self._defaults[parameter.name] = parameter.default
        self._notes = {name: note for name, note in notes.items() if note and name in self._types}
        self.schema = plain_schema(self._types, self._notes, self._defaults) or self.arguments.schema
        """The JSON Schema of the arguments."""

    @cached_property
    def arguments(self) -> TypedArguments:
        """What checks the arguments."""
        from maverick.tools.typed_arguments import TypedArguments  # here, since it brings Pydantic with it

        return TypedArguments(self._name, self._types, self._notes, self._defaults)

    def _hints(self, function: Callable[..., Any], local_names: Mapping[str, Any]) -> dict[str, Any]:
        target: Any = function if inspect.isroutine(function) else type(function).__call__
        try:
            return get_type_hints(target, localns=dict(local_names), include_extras=True)
        except (NameError, AttributeError, SyntaxError, TypeError) as error:
            raise self._refuse(
                f"an annotation cannot be understood ({error}). Import what it names where the function is defined",
                error,
            ) from error

    def _parameters(self, function: Callable[..., Any]) -> Iterable[inspect.Parameter]:
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except ValueError as error:
            raise self._refuse("it has no signature to read", error) from error
        return parameters[1:] if is_method(function) else parameters

    def _refuse(self, why: str, cause: Exception | None = None) -> InvalidToolError:
        return InvalidToolError(f"{self._name!r} cannot be a tool: {why}.", tool_name=self._name, cause=cause)
