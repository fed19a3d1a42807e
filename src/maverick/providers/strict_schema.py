"""JSON Schema in the dialects of structured output that Claude and OpenAI can enforce.

Both compile the schema of an answer into a grammar, and accept only what a grammar can say: an object lists all of its
properties and has no others, and most limits on values are unknown. A limit that is unknown is moved into the
description, where the model still reads it; the answer is validated against the whole schema afterwards anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})

_NOTES = ("title", "description")
_CHOICES = ("anyOf", "oneOf", "allOf")
_KEPT = frozenset({
    "title", "description", "enum", "const", "pattern", "multipleOf", "minimum", "exclusiveMinimum", "maximum",
    "exclusiveMaximum", "minItems", "maxItems",
})  # fmt: skip
_NOT_SUPPORTED = frozenset(
    {"allOf", "not", "if", "then", "else", "prefixItems", "patternProperties", "dependentSchemas"}
)


class _NotExpressibleError(Exception):
    """The dialect cannot express the schema."""


def claude_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in Claude's dialect, or ``None`` when the dialect cannot express it, such as an object with any keys."""
    try:
        return _claude_translate(schema)
    except _NotExpressibleError:
        return None


def _claude_translate(schema: object) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        raise _NotExpressibleError
    rest = dict(schema)
    strict: dict[str, Any] = {}
    if "$defs" in rest:
        strict["$defs"] = _claude_translate_each(rest.pop("$defs"))
    if "$ref" in rest:
        return strict | {"$ref": rest["$ref"]}
    strict |= {note: rest.pop(note) for note in _NOTES if note in rest}
    strict |= _claude_core(rest)
    return _with_limits_described(strict, rest)


def _claude_core(rest: dict[str, Any]) -> dict[str, Any]:
    """What kind of value it is. Removes what it translates from ``rest`` and leaves the limits."""
    for fixed in ("const", "enum"):
        if fixed in rest:
            rest.pop("type", None)
            return {fixed: rest.pop(fixed)}
    for choice in _CHOICES:
        if choice in rest:
            variants = [_claude_translate(variant) for variant in rest.pop(choice)]
            return {"allOf" if choice == "allOf" else "anyOf": variants}
    kind = rest.pop("type", None)
    if kind == "object":
        return {"type": kind, **_claude_object(rest)}
    if kind == "array":
        return {"type": kind, **_claude_array(rest)}
    if isinstance(kind, str) and kind in _SCALARS:
        known_format = rest.get("format") in _FORMATS | {"uri"}
        return {"type": kind, "format": rest.pop("format")} if known_format else {"type": kind}
    raise _NotExpressibleError


def _claude_object(rest: dict[str, Any]) -> dict[str, Any]:
    if rest.pop("additionalProperties", False) and "properties" not in rest:
        raise _NotExpressibleError
    strict: dict[str, Any] = {
        "properties": _claude_translate_each(rest.pop("properties", {})),
        "additionalProperties": False,
    }
    if "required" in rest:
        strict["required"] = rest.pop("required")
    return strict


def _claude_array(rest: dict[str, Any]) -> dict[str, Any]:
    strict: dict[str, Any] = {"items": _claude_translate(rest.pop("items", None))}
    if rest.get("minItems") in {0, 1}:
        strict["minItems"] = rest.pop("minItems")
    return strict


def _claude_translate_each(schemas: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _claude_translate(schema) for name, schema in schemas.items()}


def openai_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in the strict dialect, or ``None`` when the dialect cannot express it, such as an object with any keys."""
    if schema.get("type") != "object":  # the outermost value has to be an object
        return None
    try:
        strict = _openai_translate(schema)
        definitions = schema.get("$defs", {})
        if definitions:
            strict["$defs"] = {
                name: _openai_translate(definition) for name, definition in definitions.items()
            }
    except _NotExpressibleError:
        return None
    return strict


def openai_tool_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema of a tool's parameters in the strict dialect, or ``None`` when it cannot say the same.

    The dialect requires every property, so parameters that a call may leave out cannot be said in it.
    """
    return None if _has_optional(schema) else openai_schema(schema)


def _has_optional(schema: object) -> bool:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and properties.keys() - set(schema.get("required", ())):
            return True
        schema = list(schema.values())
    return isinstance(schema, list) and any(map(_has_optional, schema))


def _openai_translate(schema: object) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or schema.keys() & _NOT_SUPPORTED:
        raise _NotExpressibleError
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # nothing may be next to a reference
    rest = {name: value for name, value in schema.items() if name != "$defs"}
    strict = {name: rest.pop(name) for name in _KEPT & rest.keys()} | _openai_core(rest)
    return _with_limits_described(strict, rest)


def _openai_core(rest: dict[str, Any]) -> dict[str, Any]:
    """What kind of value it is. Removes what it translates from ``rest`` and leaves the limits."""
    for choice in ("anyOf", "oneOf"):
        if choice in rest:
            rest.pop("discriminator", None)  # the variants themselves tell them apart
            return {"anyOf": [_openai_translate(variant) for variant in rest.pop(choice)]}
    kind = rest.pop("type", None)
    if kind == "object":
        return {"type": kind, **_openai_object(rest)}
    if kind == "array":
        return {"type": kind, "items": _openai_translate(rest.pop("items", None))}
    kinds = kind if isinstance(kind, list) else [kind]
    if not _SCALARS.issuperset(kinds):
        raise _NotExpressibleError
    if rest.get("format") in _FORMATS:
        return {"type": kind, "format": rest.pop("format")}
    return {"type": kind}


def _openai_object(rest: dict[str, Any]) -> dict[str, Any]:
    properties = rest.pop("properties", None)
    if properties is None or rest.pop("additionalProperties", False):
        raise _NotExpressibleError
    rest.pop("required", None)
    return {
        "properties": {name: _openai_translate(schema) for name, schema in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def _with_limits_described(strict: dict[str, Any], limits: dict[str, Any]) -> dict[str, Any]:
    """The schema with the limits that the dialect does not know in its description, where the model still reads them."""
    if not limits:
        return strict
    described = ", ".join(f"{name}: {value}" for name, value in limits.items())
    return {**strict, "description": f"{strict.get('description', '')}\n\n({described})".strip()}
