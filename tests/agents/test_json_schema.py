from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from maverick import AgentDefinition, AgentExecutor, OutputConfig
from maverick.agents.json_schema import JsonSchema
from maverick.exceptions import InvalidInputError
from maverick.testing import ScriptedClient, reply

TRIP = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2, "pattern": "^[A-Z]"},
        "days": {"type": "integer", "minimum": 1, "exclusiveMaximum": 30},
        "by": {"enum": ["train", "ship"]},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/stop"}, "maxItems": 2, "uniqueItems": True},
        "note": {"type": ["string", "null"]},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
    "$defs": {"stop": {"type": "object", "required": ["name"], "properties": {"name": {"const": "Dijon"}}}},
}

WRONG = {
    '{"days": 1}': "answer.city: is missing",
    '{"city": "L", "days": 1}': "answer.city: expected a length of at least 2, got 'L'",
    '{"city": "lyon", "days": 1}': "answer.city: expected text that matches ^[A-Z], got 'lyon'",
    '{"city": "Lyon", "days": "1"}': "answer.days: expected integer, got '1'",
    '{"city": "Lyon", "days": true}': "answer.days: expected integer, got True",
    '{"city": "Lyon", "days": 30}': "answer.days: expected less than 30, got 30",
    '{"city": "Lyon", "days": 1, "by": "car"}': "answer.by: expected one of 'train', 'ship', got 'car'",
    '{"city": "Lyon", "days": 1, "x": 1}': "answer.x: is not allowed",
    '{"city": "Lyon", "days": 1, "stops": [{}]}': "answer.stops[0].name: is missing",
    '{"city": "Lyon", "days": 1, "stops": [{"name": "Nice"}]}': "expected 'Dijon', got 'Nice'",
    "[]": "answer: expected object, got []",
}


def problems(schema: Any, value: object) -> list[str]:
    return list(JsonSchema(schema).problems(value))


@pytest.mark.requirement("007-RUN-SCHEMA")
@pytest.mark.parametrize("answer", WRONG)
def test_what_does_not_fit_is_named_with_its_place(answer: str) -> None:
    assert WRONG[answer] in "; ".join(problems(TRIP, json.loads(answer)))


@pytest.mark.requirement("007-RUN-SCHEMA")
def test_what_fits_has_no_problems() -> None:
    stops = [{"name": "Dijon"}]

    assert problems(TRIP, {"city": "Lyon", "days": 3.0, "by": "ship", "stops": stops, "note": None}) == []


@pytest.mark.parametrize(
    ("schema", "fits", "fits_not"),
    [
        ({"anyOf": [{"type": "string"}, {"minimum": 3}]}, ["x", 4], [2]),
        ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, [2, 3], [5, 6]),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1, 2], [0, 3]),
        ({"not": {"type": "null"}}, [1], [None]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1]], [[1], ["a", "b"]]),
        ({"minProperties": 1, "maxProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 2}]),
        ({"additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": "b"}]),
        ({"uniqueItems": True, "minItems": 1}, [[1, 2]], [[1, 1], []]),
        ({"$ref": "#/definitions/a~1b", "definitions": {"a/b": {"exclusiveMinimum": 0}}}, [1], [0]),
        ({"properties": {"next": {"$ref": "#"}}, "required": ["next"]}, [{"next": 1}], [{"next": {}}]),
    ],
)
def test_a_schema_may_combine_others(schema: Any, fits: list[Any], fits_not: list[Any]) -> None:
    assert [value for value in fits if problems(schema, value)] == []
    assert [value for value in fits_not if not problems(schema, value)] == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ([], "expected a JSON Schema"),
        ({"type": "text"}, "no type named 'text'"),
        ({"propertis": {}}, "Did you mean 'properties'?"),
        ({"if": {}}, "no supported keyword named 'if'"),
        ({"pattern": "("}, "not a regular expression"),
        ({"minimum": "x"}, "minimum: expected a number"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "leads nowhere"),
        ({"items": {"type": "text"}}, "schema.items: "),
    ],
)
def test_a_schema_that_can_not_be_held_to_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words.replace("(", r"\(").replace("?", r"\?")):
        JsonSchema(schema)


def test_what_pydantic_makes_of_a_model_is_a_schema_it_knows() -> None:
    class Leg(BaseModel):
        to: str
        hours: float = 1

    class Tour(BaseModel):
        legs: list[Leg]
        guide: str | None = None

    schema = JsonSchema(Tour.model_json_schema())

    assert list(schema.problems({"legs": [{"to": "Lyon"}]})) == []
    assert list(schema.problems({"legs": [{}], "guide": 3}))


@pytest.mark.requirement("007-RUN-SCHEMA")
async def test_an_answer_that_does_not_fit_is_repaired_like_one_of_a_python_type() -> None:
    booker = AgentDefinition(
        "booker", "Books.", output_config=OutputConfig("trip", JsonSchema(TRIP).as_type(), max_repairs=1)
    )
    client = ScriptedClient([reply('{"city": "Lyon"}'), reply('{"city": "Lyon", "days": 3}')])

    result = await AgentExecutor(client).execute(booker, inputs={"prompt": "Lyon"})

    assert result.output == {"city": "Lyon", "days": 3}
    assert "answer.days: is missing" in client.requests[1].messages[-1].content
