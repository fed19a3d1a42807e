from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import BaseModel

from maverick import AgentDefinition, AgentExecutor, OutputConfig
from maverick.exceptions import InvalidInputError
from maverick.loop.json_schema import JsonSchema
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
    '{"days": 1}': "answer: 'city' is a required property",
    '{"city": "L", "days": 1}': "answer.city: 'L' is too short",
    '{"city": "Lyon", "days": true}': "answer.days: True is not of type 'integer'",
    '{"city": "Lyon", "days": 1, "x": 1}': "('x' was unexpected)",
    '{"city": "Lyon", "days": 1, "stops": [{"name": "Nice"}]}': "answer.stops[0].name: 'Dijon' was expected",
    "[]": "answer: [] is not of type 'object'",
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


def test_a_schema_may_refer_to_its_own_parts_and_to_itself() -> None:
    named = {"$ref": "#/definitions/a~1b", "definitions": {"a/b": {"exclusiveMinimum": 0}}}
    nested = {"properties": {"next": {"$ref": "#"}}, "required": ["next"]}

    assert problems(named, 0)
    assert not problems(named, 1)
    assert problems(nested, {"next": {}})
    assert not problems(nested, {"next": 1})


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ([], "expected a JSON Schema"),
        ({"type": "text"}, "schema.type: 'text' is not valid"),
        ({"pattern": "("}, "schema.pattern: '(' is not a 'regex'"),
        ({"propertis": {}}, "Did you mean 'properties'?"),
        ({"minimum": "x"}, "schema.minimum: 'x' is not of type 'number'"),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, "leads nowhere"),
        ({"$ref": "http://127.0.0.1:9/schema"}, "leads nowhere"),
        ({"items": {"type": "text"}}, "schema.items.type: "),
    ],
)
def test_a_schema_that_can_not_be_held_to_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(words)):
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
    assert "'days' is a required property" in client.requests[1].messages[-1].content
