"""The few things the offline model has to know of JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
Json: TypeAlias = str | int | float | bool | list[Any] | dict[str, Any] | None
"""A value as JSON knows them."""


@dataclass(frozen=True, slots=True)
class Property:
    """A property of an object: an argument of a tool, or a field of an answer."""

    name: str
    schema: Schema
    required: bool

    @property
    def type(self) -> str:
        """Its JSON type; a property that does not say is text."""
        return str(self.schema.get("type", "string"))


def properties_of(schema: Schema, root: Schema | None = None) -> Iterator[Property]:
    """The properties of an object's schema, references resolved.

    Args:
        schema: The schema of the object.
        root: The whole schema, where the definitions are; by default the object's own.
    """
    required = schema.get("required", ())
    for name, declared in schema.get("properties", {}).items():
        yield Property(name, resolve(declared, root or schema), name in required)


def resolve(schema: Schema, root: Schema) -> Schema:
    """A schema in its simplest form.

    References are followed, the first alternative that is not null stands for all, and a constant is a choice
    of one.
    """
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        return resolve(root.get("$defs", {}).get(name, {}), root)
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        if alternative.get("type") != "null":
            return resolve(alternative, root)
    kind = schema.get("type")
    if isinstance(kind, list):
        schema = {**schema, "type": next((each for each in kind if each != "null"), "null")}
    if "const" in schema:
        schema = {**schema, "enum": [schema["const"]]}
    return schema
