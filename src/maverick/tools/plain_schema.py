"""The JSON Schema of plain parameters, word for word as Pydantic writes it, without loading Pydantic.

Most tools take texts, numbers and lists of them, and a short run calls few of its tools: it has to describe them all
to the model, and need not load what could check any type there is.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Container, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}

_Schema: TypeAlias = dict[str, Any]


class _NotPlainError(Exception):
    """A type is left to Pydantic."""


def plain_schema(
    types: Mapping[str, Any], notes: Mapping[str, str], defaults: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The JSON Schema of parameters, or ``None`` if one of them is not plain.

    Plain are ``str``, ``int``, ``float``, ``bool``, lists of plain types, plain types or ``None``, choices of texts,
    and typed dicts of plain types.

    Args:
        types: The type of each parameter.
        notes: What is said of a parameter.
        defaults: The value of each parameter that may be left out.
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
