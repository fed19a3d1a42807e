"""A JSON Schema in the dialect that Claude can be held to.

The API compiles the schema of an answer into a grammar, and takes only what a grammar can say: every object lists its
properties and has no others, and most limits on values are unknown to it. A limit it does not know is moved into the
description, where the model still reads it; the answer is validated against the whole schema afterwards anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maverick.providers.schema_dialect import InexpressibleError, with_limits_told

_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_SCALARS = ("string", "integer", "number", "boolean", "null")
_NOTES = ("title", "description")
_CHOICES = ("anyOf", "oneOf", "allOf")


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in Claude's dialect, or ``None`` when it allows what the dialect cannot say, such as any key."""
    try:
        return _translate(schema)
    except InexpressibleError:
        return None


def _translate(schema: object) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise InexpressibleError
    rest = dict(schema)
    strict: dict[str, Any] = {}
    if "$defs" in rest:
        strict["$defs"] = _translate_each(rest.pop("$defs"))
    if "$ref" in rest:
        return strict | {"$ref": rest["$ref"]}
    strict |= {note: rest.pop(note) for note in _NOTES if note in rest}
    strict |= _core(rest)
    return with_limits_told(strict, rest)


def _core(rest: dict[str, Any]) -> dict[str, Any]:
    """What kind of value it is. Takes what it translates out of ``rest`` and leaves the limits."""
    for fixed in ("const", "enum"):
        if fixed in rest:
            rest.pop("type", None)
            return {fixed: rest.pop(fixed)}
    for choice in _CHOICES:
        if choice in rest:
            variants = [_translate(variant) for variant in rest.pop(choice)]
            return {"allOf" if choice == "allOf" else "anyOf": variants}
    kind = rest.pop("type", None)
    if kind == "object":
        return {"type": kind, **_object(rest)}
    if kind == "array":
        return {"type": kind, **_array(rest)}
    if kind in _SCALARS:
        known_format = rest.get("format") in _FORMATS
        return {"type": kind, "format": rest.pop("format")} if known_format else {"type": kind}
    raise InexpressibleError


def _object(rest: dict[str, Any]) -> dict[str, Any]:
    if rest.pop("additionalProperties", False) and "properties" not in rest:
        raise InexpressibleError
    strict: dict[str, Any] = {
        "properties": _translate_each(rest.pop("properties", {})),
        "additionalProperties": False,
    }
    if "required" in rest:
        strict["required"] = rest.pop("required")
    return strict


def _array(rest: dict[str, Any]) -> dict[str, Any]:
    strict: dict[str, Any] = {"items": _translate(rest.pop("items", None))}
    if rest.get("minItems") in {0, 1}:
        strict["minItems"] = rest.pop("minItems")
    return strict


def _translate_each(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _translate(schema) for name, schema in schemas.items()}
