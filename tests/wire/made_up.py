"""JSON of a schema's shape, as a model that is held to it would answer."""

from __future__ import annotations

from typing import Any


def made_up(schema: dict[str, Any], root: dict[str, Any] | None = None) -> Any:
    """A value of the schema: the first of several, every property, one item."""
    root = root or schema
    if "$ref" in schema:
        return made_up(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return made_up(schema["anyOf"][0], root)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind == "object":
        return {name: made_up(each, root) for name, each in schema["properties"].items()}
    if kind == "array":
        return [made_up(schema["items"], root)]
    return "made up" if kind == "string" else 7


def made_up_object(schema: dict[str, Any]) -> Any:
    """The same, by a service that takes the schema of an object only."""
    assert "properties" in schema, schema
    return made_up(schema)
