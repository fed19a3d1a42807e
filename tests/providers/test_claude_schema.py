from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import pytest
from anthropic import transform_schema
from pydantic import BaseModel, Field

from maverick.providers.strict_schema import claude_schema as strict_schema


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


class Place(BaseModel):
    """Somewhere."""

    name: str
    mood: Mood
    kind: Literal["city", "village"] = "city"


class Report(BaseModel):
    summary: str = Field(description="What happened.", max_length=200)
    places: list[Place] = Field(min_length=1)
    best: Place | None = None
    score: float = Field(ge=0, le=1)
    when: str = Field(json_schema_extra={"format": "date"})
    pair: list[int] = Field(min_length=2, max_length=2)


def test_every_object_is_closed_and_what_the_dialect_lacks_is_said_in_words() -> None:
    strict = strict_schema(Report.model_json_schema())
    assert strict is not None
    assert strict["additionalProperties"] is False
    assert strict["$defs"]["Place"]["additionalProperties"] is False
    assert strict["properties"]["summary"] == {
        "title": "Summary",
        "description": "What happened.\n\n(maxLength: 200)",
        "type": "string",
    }
    assert strict["properties"]["score"]["description"] == "(maximum: 1, minimum: 0)"
    assert strict["properties"]["places"]["minItems"] == 1
    assert "minItems" not in strict["properties"]["pair"]
    assert strict["properties"]["when"]["format"] == "date"
    assert strict["properties"]["best"]["anyOf"][1] == {"type": "null"}


def without_words(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: without_words(value) for name, value in schema.items() if name != "description"}
    return [without_words(value) for value in schema] if isinstance(schema, list) else schema


def test_it_agrees_with_the_official_sdk_on_everything_but_the_wording() -> None:
    schema = Report.model_json_schema()
    assert without_words(strict_schema(schema)) == without_words(transform_schema(schema))


def test_the_original_is_left_as_it_was() -> None:
    schema = Report.model_json_schema()
    strict_schema(schema)
    assert schema == Report.model_json_schema()


class AnyKey(BaseModel):
    counts: dict[str, int]


class AnyValue(BaseModel):
    value: Any


@pytest.mark.parametrize(
    "schema",
    [
        AnyKey.model_json_schema(),
        AnyValue.model_json_schema(),
        {},
        {"type": "array"},
        {"type": ["string", "null"]},
    ],
    ids=["any key", "any value", "anything", "any items", "a list of types"],
)
def test_what_the_dialect_cannot_say_is_not_said_wrongly(schema: dict[str, Any]) -> None:
    assert strict_schema(schema) is None
