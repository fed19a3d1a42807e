"""Partial output: what there is of a typed output while its answer streams."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from maverick import AgentExecutor, ContentChunk, OutputConfig, PartialOutput, RunEnd
from maverick.exceptions import ServerError
from maverick.loop.output import PartialOutputReader
from maverick.testing import ScriptedClient, fail, reply
from scenario import agent, watch


class City(BaseModel):
    name: str
    degrees: int


class Report(BaseModel):
    summary: str = Field(min_length=2)
    cities: list[City] = Field(alias="places")
    urgent: bool = False


@dataclass
class Note:
    title: str
    lines: list[str]


class Draft(TypedDict):
    title: str
    lines: list[str]


ANSWER = '{"summary": "Fine.", "places": [{"name": "Brest", "degrees": 21}, {"name": "Caen", "degrees": 9}]}'
NOTE = '{"title": "Milk", "lines": ["one", "two"]}'


async def drafts(answer: str, schema: Any, **more: Any) -> list[Any]:
    watched = await watch([reply(answer, **more)], agent(output=OutputConfig(schema=schema)))
    assert watched.result.success
    return [event.output for event in watched.of(PartialOutput)]


@pytest.mark.requirement("H-PARTIAL")
async def test_what_is_valid_so_far_is_told_as_it_streams_and_only_when_it_has_changed() -> None:
    client = ScriptedClient([reply(ANSWER)])
    told: list[Any] = []
    definition = agent(output=OutputConfig("report", Report))
    async for event in AgentExecutor(client).stream(definition):
        told += [event] if isinstance(event, ContentChunk | PartialOutput | RunEnd) else []

    outputs = [event.output for event in told if isinstance(event, PartialOutput)]
    assert outputs[0]["summary"] in "Fine."
    assert [City(name="Brest", degrees=21)] in [output.get("cities") for output in outputs]
    assert outputs[-1]["cities"][0] == City(name="Brest", degrees=21)
    assert all(before != after for before, after in pairwise(outputs))
    assert not any("urgent" in output for output in outputs)
    assert isinstance(told[-1], RunEnd)
    assert told[-1].result.output == Report.model_validate_json(ANSWER)


@pytest.mark.requirement("H-PARTIAL")
@pytest.mark.parametrize("schema", [Note, Draft, {"type": "object", "required": ["title", "lines"]}])
async def test_a_dataclass_a_typed_dict_and_a_json_schema_come_as_dicts(schema: Any) -> None:
    outputs = await drafts(NOTE, schema)

    assert outputs[0].keys() <= {"title"}
    assert outputs[-1]["title"] == "Milk"


@pytest.mark.requirement("H-PARTIAL")
@pytest.mark.parametrize(
    "answer", ["[1, 22, 333]", '{"answer": [1, 22, 333]}', "Here:\n```json\n[1, 22, 333]\n```"]
)
def test_other_types_come_as_values_of_their_own_however_they_are_wrapped(answer: str) -> None:
    reader = PartialOutputReader(list[int], wrapped=True)
    outputs = [output for letter in answer if (output := reader.add(letter)) is not None]

    assert outputs[-1] == [1, 22, 333]
    assert [1, 22] in outputs


@pytest.mark.requirement("H-PARTIAL")
@pytest.mark.parametrize("schema", [Report | City, Report | None])
def test_a_union_of_models_comes_as_what_is_there_without_defaults(schema: Any) -> None:
    reader = PartialOutputReader(schema, wrapped=True)

    assert reader.add('{"summary": "Fine.", ') == {"summary": "Fine."}


@pytest.mark.requirement("H-PARTIAL")
async def test_an_answer_that_is_tried_again_begins_anew_and_text_has_no_drafts() -> None:
    watched = await watch([fail(ServerError("Busy.")), reply(NOTE)], agent(output=OutputConfig(schema=Note)))
    plain = await watch([reply(NOTE)], agent())

    assert watched.of(PartialOutput)[-1].output["title"] == "Milk"
    assert not plain.of(PartialOutput)


@pytest.mark.requirement("H-PARTIAL")
def test_a_long_answer_is_read_only_so_often() -> None:
    reader = PartialOutputReader(list[str], wrapped=False)
    reader.add("[")
    told = sum(reader.add('"word", ') is not None for _ in range(20_000))

    assert 100 < told < 1_000
