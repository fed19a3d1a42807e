"""A JSON Schema as the type of an agent's answer, for those who have no Python type for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NoReturn

from jsonschema import Draft202012Validator, SchemaError
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from maverick.exceptions import InvalidInputError, describe_unknown

_NOTES = {
    "$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "format",
    "deprecated", "readOnly", "writeOnly",
}  # fmt: skip
_KEYWORDS = set(Draft202012Validator.VALIDATORS) | {"then", "else"}
_LONGEST_PROBLEM = 200
_MOST_PROBLEMS = 5


class JsonSchema:
    """Checks values against a JSON Schema, and stands for it where a type is wanted.

    A keyword that the standard does not know is refused: it is a mistake, or it would not be checked. References have to
    lie within the schema; nothing is fetched. An error calls the schema what ``where`` says.
    """

    def __init__(self, schema: Mapping[str, Any], where: str = "schema") -> None:
        self.schema = schema
        self._where = where
        if not isinstance(schema, Mapping):
            self._refuse(f"{where}: expected a JSON Schema, which is an object, got {type(schema).__name__}.")
        resource: Resource[Any] = Resource.from_contents(schema, default_specification=DRAFT202012)
        registry: Registry[Any] = Registry().with_resource("", resource)
        self._resolver = registry.resolver()
        try:
            Draft202012Validator.check_schema(schema, Draft202012Validator.FORMAT_CHECKER)
        except SchemaError as error:
            place = error.json_path.removeprefix("$")
            self._refuse(f"{where}{place}: {_short(error.message)}. Correct the schema.", error)
        self._check(schema)
        self._validator = Draft202012Validator(schema, registry=registry)

    def as_type(self, of: Any = Any) -> Any:  # noqa: ANN401 - it is a type, made of one that stands for any value
        """The type of all values that fit, or of those that are of another type too."""
        return Annotated[of, self]

    def problems(self, value: object) -> Iterator[str]:
        """What is wrong with a value, if anything is: where in it, and what was expected there."""
        try:
            for error in self._validator.iter_errors(value):
                yield f"answer{error.json_path.removeprefix('$')}: {_short(error.message)}"
        except RecursionError:
            yield "answer: is nested too deeply"

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], Any]) -> Any:  # noqa: ANN401 - as Pydantic wants it
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, core: object, handler: object) -> dict[str, Any]:
        inlined: dict[str, Any] = self._inlined(self.schema, ())
        return {
            keyword: value for keyword, value in inlined.items() if keyword not in ("$defs", "definitions")
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
        found = self._inlined(self._resolver.lookup(reference).contents, (*within, reference))
        return {**found, **plain} if isinstance(found, dict) else plain

    def _checked(self, value: object) -> object:
        if found := list(self.problems(value)):
            raise ValueError("; ".join(found[:_MOST_PROBLEMS]))
        return value

    def _check(self, schema: Any) -> None:  # noqa: ANN401 - a schema may be a boolean
        """Refuse keywords and references that lead nowhere, here and in the schemas within."""
        if not isinstance(schema, Mapping):
            return
        for keyword in schema:
            if keyword not in _KEYWORDS | _NOTES:
                self._refuse(f"{self._where}: {describe_unknown('keyword', keyword, sorted(_KEYWORDS))}")
        try:
            self._resolver.lookup(schema.get("$ref", "#"))
        except Unresolvable as error:
            self._refuse(
                f"{self._where}: the reference {schema['$ref']!r} leads nowhere in this schema.", error
            )
        for part in DRAFT202012.create_resource(schema).subresources():
            self._check(part.contents)

    def _refuse(self, problem: str, cause: Exception | None = None) -> NoReturn:
        raise InvalidInputError(problem, field=self._where, cause=cause)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_PROBLEM else f"{text[:_LONGEST_PROBLEM]}…"
