"""A JSON Schema in the dialect of OpenAI's strict structured output.

Strict output takes a part of JSON Schema: every object names all of its properties as required and has no others, and
only some limits on values are known. A limit that is not known is moved into the description, where the model still
reads it; the answer is validated against the whole schema afterwards anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maverick.providers.schema_dialect import InexpressibleError, with_limits_told

_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_KEPT = frozenset(
    {
        "title",
        "description",
        "enum",
        "const",
        "pattern",
        "multipleOf",
        "minimum",
        "exclusiveMinimum",
        "maximum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    }
)
_UNSAYABLE = frozenset(
    {"allOf", "not", "if", "then", "else", "prefixItems", "patternProperties", "dependentSchemas"}
)


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in the strict dialect, or ``None`` when it allows what the dialect cannot say, such as any key."""
    if schema.get("type") != "object":  # the outermost value has to be an object
        return None
    try:
        strict = _translate(schema)
        definitions = schema.get("$defs", {})
        if definitions:
            strict["$defs"] = {name: _translate(definition) for name, definition in definitions.items()}
    except InexpressibleError:
        return None
    return strict


def _translate(schema: object) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or schema.keys() & _UNSAYABLE:
        raise InexpressibleError
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}  # nothing may stand beside a reference
    rest = {name: value for name, value in schema.items() if name != "$defs"}
    strict = {name: rest.pop(name) for name in _KEPT & rest.keys()} | _core(rest)
    return with_limits_told(strict, rest)


def _core(rest: dict[str, Any]) -> dict[str, Any]:
    """What kind of value it is. Takes what it translates out of ``rest`` and leaves the limits."""
    for choice in ("anyOf", "oneOf"):
        if choice in rest:
            rest.pop("discriminator", None)  # the variants themselves say which is which
            return {"anyOf": [_translate(variant) for variant in rest.pop(choice)]}
    kind = rest.pop("type", None)
    if kind == "object":
        return {"type": kind, **_object(rest)}
    if kind == "array":
        return {"type": kind, "items": _translate(rest.pop("items", None))}
    kinds = kind if isinstance(kind, list) else [kind]
    if not _SCALARS.issuperset(kinds):
        raise InexpressibleError
    if rest.get("format") in _FORMATS:
        return {"type": kind, "format": rest.pop("format")}
    return {"type": kind}


def _object(rest: dict[str, Any]) -> dict[str, Any]:
    properties = rest.pop("properties", None)
    if properties is None or rest.pop("additionalProperties", False):
        raise InexpressibleError
    rest.pop("required", None)
    return {
        "properties": {name: _translate(schema) for name, schema in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
