"""A JSON Schema as the type of an agent's answer, for those who have no Python type for it.

The keywords that describe plain data are known: types, properties, items, ranges, lengths, patterns, choices,
combinations and references within the schema. Any other that would change what is valid is refused when the schema
is read, so that nothing is taken for checked that is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from maverick.exceptions import InvalidInputError, describe_unknown

_NOTES = {
    "$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "format",
    "deprecated", "readOnly", "writeOnly",
}  # fmt: skip
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ),
}
_BOUNDS: Mapping[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", lambda value, bound: value >= bound, "at least"),
    "maximum": ("number", lambda value, bound: value <= bound, "at most"),
    "exclusiveMinimum": ("number", lambda value, bound: value > bound, "more than"),
    "exclusiveMaximum": ("number", lambda value, bound: value < bound, "less than"),
    "multipleOf": ("number", lambda value, bound: value % bound == 0, "a multiple of"),
    "minLength": ("string", lambda value, bound: len(value) >= bound, "a length of at least"),
    "maxLength": ("string", lambda value, bound: len(value) <= bound, "a length of at most"),
    "pattern": ("string", lambda value, bound: re.search(bound, value) is not None, "text that matches"),
    "minItems": ("array", lambda value, bound: len(value) >= bound, "a list no shorter than"),
    "maxItems": ("array", lambda value, bound: len(value) <= bound, "a list no longer than"),
    "uniqueItems": ("array", lambda value, bound: not bound or _are_unique(value), "different items:"),
    "minProperties": ("object", lambda value, bound: len(value) >= bound, "properties, at least"),
    "maxProperties": ("object", lambda value, bound: len(value) <= bound, "properties, at most"),
}
_OTHERS = {
    "type", "enum", "const", "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf", "oneOf",
    "allOf", "not", "$ref",
}  # fmt: skip
_KNOWN = _NOTES | _BOUNDS.keys() | _OTHERS
_DEEPEST = 64


class JsonSchema:
    """Checks values against a JSON Schema, and stands for it where a type is wanted.

    Args:
        schema: The schema, as an object read from JSON.
        where: What to call it in an error.

    Raises:
        InvalidInputError: It is no schema, or uses a keyword that is not known.
    """

    def __init__(self, schema: Mapping[str, Any], where: str = "schema") -> None:
        self.schema = schema
        self._where = where
        self._check(schema, where)

    def as_type(self) -> Any:  # noqa: ANN401 - it is a type, made of one that stands for any value
        """The type of all values that fit, for ``OutputConfig(schema=…)``."""
        return Annotated[Any, self]

    def problems(self, value: object) -> Iterator[str]:
        """What is wrong with a value, if anything is: where in it, and what was expected there."""
        return self._problems(value, self.schema, "answer", 0)

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:  # noqa: ANN401 - as Pydantic wants it
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._checked, core_schema.any_schema())

    def __get_pydantic_json_schema__(self, core: object, handler: object) -> dict[str, Any]:
        return {
            keyword: value
            for keyword, value in self._inlined(self.schema, ()).items()
            if keyword not in ("$defs", "definitions")
        }

    def _inlined(self, schema: Any, within: tuple[str, ...]) -> Any:  # noqa: ANN401 - JSON
        """The schema without references, which Pydantic would take for its own; one to what it is in says nothing."""
        if isinstance(schema, list):
            return [self._inlined(part, within) for part in schema]
        if not isinstance(schema, Mapping):
            return schema
        plain = {key: self._inlined(part, within) for key, part in schema.items() if key != "$ref"}
        reference = schema.get("$ref")
        if not isinstance(reference, str) or reference in within:
            return plain
        found = self._inlined(self._resolved(reference), (*within, reference))
        return {**found, **plain} if isinstance(found, dict) else plain

    def _checked(self, value: object) -> object:
        if found := list(self.problems(value)):
            raise ValueError("; ".join(found[:5]))
        return value

    def _problems(self, value: Any, schema: Any, at: str, depth: int) -> Iterator[str]:  # noqa: ANN401 - JSON
        if schema is True:
            return
        if depth > _DEEPEST:
            yield f"{at}: is nested more than {_DEEPEST} levels deep"
            return
        if schema is False:
            yield f"{at}: is not allowed"
            return
        if "$ref" in schema:
            yield from self._problems(value, self._resolved(schema["$ref"]), at, depth + 1)
        yield from _own_problems(value, schema, at)
        yield from self._combined_problems(value, schema, at, depth)
        if isinstance(value, dict):
            yield from self._property_problems(value, schema, at, depth)
        elif isinstance(value, list):
            first = schema.get("prefixItems", ())
            for index, item in enumerate(value):
                part = first[index] if index < len(first) else schema.get("items", True)
                yield from self._problems(item, part, f"{at}[{index}]", depth + 1)

    def _property_problems(
        self, value: dict[str, Any], schema: Mapping[str, Any], at: str, depth: int
    ) -> Iterator[str]:
        known = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield f"{at}.{name}: is missing"
        for name, part in value.items():
            wanted = known.get(name, schema.get("additionalProperties", True))
            yield from self._problems(part, wanted, f"{at}.{name}", depth + 1)

    def _combined_problems(
        self,
        value: Any,  # noqa: ANN401 - JSON
        schema: Mapping[str, Any],
        at: str,
        depth: int,
    ) -> Iterator[str]:
        for part in schema.get("allOf", ()):
            yield from self._problems(value, part, at, depth + 1)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                fitting = sum(not any(self._problems(value, part, at, depth + 1)) for part in schema[keyword])
                if not fitting or (keyword == "oneOf" and fitting > 1):
                    yield f"{at}: fits {fitting or 'none'} of the {len(schema[keyword])} alternatives"
        if "not" in schema and not any(self._problems(value, schema["not"], at, depth + 1)):
            yield f"{at}: is what it must not be"

    def _resolved(self, reference: str) -> Any:  # noqa: ANN401 - a schema, which may be a boolean
        found: Any = self.schema
        for part in reference.removeprefix("#").strip("/").split("/"):
            if part:
                found = found[part.replace("~1", "/").replace("~0", "~")]
        return found

    def _check(self, schema: Any, at: str) -> None:  # noqa: ANN401 - whatever the person wrote
        """Refuse what could not be held to."""
        if isinstance(schema, bool):
            return
        if not isinstance(schema, Mapping):
            self._refuse(f"{at}: expected a JSON Schema, which is an object, got {type(schema).__name__}.")
        for keyword in schema:
            if keyword not in _KNOWN:
                self._refuse(
                    f"{at}: {describe_unknown('supported keyword', keyword, sorted(_KNOWN - _NOTES))}"
                )
        for kind in _kinds(schema):
            if kind not in _TYPES:
                self._refuse(f"{at}: {describe_unknown('type', str(kind), sorted(_TYPES))}")
        self._check_values(schema, at)
        for name, part in _parts(schema):
            self._check(part, f"{at}.{name}")

    def _check_values(self, schema: Mapping[str, Any], at: str) -> None:
        for keyword in _BOUNDS.keys() & schema.keys() - {"pattern"}:
            if not isinstance(schema[keyword], int | float):
                self._refuse(f"{at}.{keyword}: expected a number, got {schema[keyword]!r}.")
        try:
            if "pattern" in schema:
                re.compile(schema["pattern"])
            if "$ref" in schema:
                self._resolved(schema["$ref"])
        except (re.error, TypeError) as error:
            self._refuse(f"{at}.pattern: {schema['pattern']!r} is not a regular expression.", error)
        except (KeyError, AttributeError) as error:
            self._refuse(f"{at}.$ref: {schema['$ref']!r} leads nowhere in this schema.", error)

    def _refuse(self, problem: str, cause: Exception | None = None) -> None:
        raise InvalidInputError(problem, field=self._where, cause=cause)


def _own_problems(value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:  # noqa: ANN401 - JSON
    kinds = _kinds(schema)
    if kinds and not any(_TYPES[kind](value) for kind in kinds):
        yield f"{at}: expected {' or '.join(kinds)}, got {_quoted(value)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: expected one of {', '.join(map(_quoted, schema['enum']))}, got {_quoted(value)}"
    if "const" in schema and value != schema["const"]:
        yield f"{at}: expected {_quoted(schema['const'])}, got {_quoted(value)}"
    for keyword, (kind, fits, words) in _BOUNDS.items():
        if keyword in schema and _TYPES[kind](value) and not fits(value, schema[keyword]):
            yield f"{at}: expected {words} {schema[keyword]}, got {_quoted(value)}"


def _kinds(schema: Mapping[str, Any]) -> list[Any]:
    kind = schema.get("type", [])
    return kind if isinstance(kind, list) else [kind]


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The schemas within a schema."""
    for keyword in ("properties", "$defs", "definitions"):
        for name, part in dict(schema.get(keyword, {})).items():
            yield f"{keyword}.{name}", part
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for index, part in enumerate(schema.get(keyword, ())):
            yield f"{keyword}[{index}]", part
    for keyword in ("items", "additionalProperties", "not"):
        if keyword in schema:
            yield keyword, schema[keyword]


def _are_unique(items: list[Any]) -> bool:
    return all(item not in items[:index] for index, item in enumerate(items))


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
