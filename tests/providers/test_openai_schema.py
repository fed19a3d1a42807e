"""Schemas in the dialect of strict structured output."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import openai
import pytest
from pydantic import BaseModel, Field

from maverick.providers.strict_schema import openai_schema as strict_schema


class Sky(Enum):
    CLEAR = "clear"
    GREY = "grey"


class Place(BaseModel):
    city: str
    country: str | None


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Report(BaseModel):
    """A weather report."""

    summary: str = Field(description="One line.")
    places: list[Place]
    sky: Sky
    day: date
    degrees: Annotated[float, Field(ge=-90, le=60)]
    pet: Cat | Dog


class Tree(BaseModel):
    name: str
    root: TreeNode


class TreeNode(BaseModel):
    children: list[TreeNode]


@pytest.mark.parametrize("model", [Place, Report, Tree])
def test_a_model_becomes_what_openai_makes_of_it(model: type[BaseModel]) -> None:
    theirs: Any = openai.pydantic_function_tool(model)["function"]["parameters"]

    assert strict_schema(model.model_json_schema()) == theirs


def test_every_property_is_required_and_there_are_no_others() -> None:
    strict = strict_schema({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "null"}}})

    assert strict is not None
    assert strict["required"] == ["a", "b"]
    assert strict["additionalProperties"] is False


def test_a_limit_the_dialect_does_not_know_is_told_in_the_description() -> None:
    name = {"type": "string", "minLength": 3, "default": "Ana", "description": "Who."}
    strict = strict_schema({"type": "object", "properties": {"name": name}})

    assert strict is not None
    assert strict["properties"]["name"] == {
        "type": "string",
        "description": "Who.\n\n(minLength: 3, default: Ana)",
    }


def test_a_format_the_dialect_does_not_know_is_told_in_the_description() -> None:
    strict = strict_schema({"type": "object", "properties": {"at": {"type": "string", "format": "uri"}}})

    assert strict is not None
    assert strict["properties"]["at"] == {"type": "string", "description": "(format: uri)"}


def test_one_of_several_becomes_any_of_them() -> None:
    choice = {"oneOf": [{"$ref": "#/$defs/A"}], "discriminator": {"propertyName": "kind"}}
    schema = {
        "type": "object",
        "properties": {"pet": choice},
        "$defs": {"A": {"type": "object", "properties": {}}},
    }
    strict = strict_schema(schema)

    assert strict is not None
    assert strict["properties"]["pet"] == {"anyOf": [{"$ref": "#/$defs/A"}]}


@pytest.mark.parametrize(
    "value",
    [
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object"},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "integer"}]},
        {"allOf": [{"type": "string"}]},
        {"enum": ["a", 1]},
        {"type": ["string", "object"]},
        {},
        True,
    ],
    ids=str,
)
def test_what_the_dialect_cannot_say_makes_no_strict_schema(value: object) -> None:
    assert strict_schema({"type": "object", "properties": {"value": value}}) is None
    assert strict_schema({"type": "object", "properties": {}, "$defs": {"Value": value}}) is None


@pytest.mark.parametrize(
    "schema", [{"type": "array", "items": {"type": "string"}}, {"anyOf": [{"type": "object"}]}, {}]
)
def test_only_an_object_can_be_an_answer(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None


def test_the_schema_that_was_given_stays_as_it_is() -> None:
    given = Report.model_json_schema()
    strict_schema(given)

    assert given == Report.model_json_schema()
