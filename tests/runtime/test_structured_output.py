"""Structured output through the executor: parsed, repaired, or returned raw with a flag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from maverick import OutputConfig, TerminateReason, tool
from maverick.exceptions import OutputValidationError
from maverick.model import ModelInfo, Role
from maverick.testing import ScriptedClient, call
from scenario import agent, run


class Report(BaseModel):
    summary: str
    files: list[str]


class Note(BaseModel):
    text: str = ""
    answer: str = ""


class Item(TypedDict):
    name: str


@dataclass
class Point:
    x: int


GOOD = '{"summary": "fine", "files": ["a.py"]}'
REPORT = OutputConfig("report", Report)


@pytest.mark.requirement("003-FR5", "003-FR5-AC1", "003-G4", "003-FR1-AC1")
async def test_valid_output_is_returned_typed_and_the_text_is_kept() -> None:
    result = await run([GOOD], agent(output=REPORT))

    assert (result.success, result.validated) == (True, True)
    assert result.output == Report(summary="fine", files=["a.py"])
    assert result.raw_content == GOOD


@pytest.mark.requirement("003-FR5-AC1")
@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (list[int], "[1, 2]", [1, 2]),
        (Literal["yes", "no"], '"no"', "no"),
        (Point, '```json\n{"x": 3}\n```', Point(3)),
        (bool, "false", False),
        (int | None, "null", None),
        (Note | Point, '{"text": "Noon."}', Note(text="Noon.")),
        (Note | Point, '{"answer": {"x": 3}}', Point(3)),
        (Note | Point, '{"answer": "Noon."}', Note(answer="Noon.")),
        (list[Note], '{"answer": [{"text": "Noon."}]}', [Note(text="Noon.")]),
        (Item, '{"name": "rope"}', {"name": "rope"}),
    ],
)
async def test_any_type_can_be_the_output(schema: Any, text: str, value: Any) -> None:
    result = await run([text], agent(output=OutputConfig("value", schema)))

    assert (result.success, result.validated, result.output) == (True, True, value)


@pytest.mark.requirement("003-FR5-AC1")
async def test_an_answer_that_does_not_fit_is_shown_to_the_model_which_may_correct_it() -> None:
    client = ScriptedClient(['{"summary": "fine"}', GOOD])

    result = await run(client, agent(output=REPORT))

    assert result.output == Report(summary="fine", files=["a.py"])
    complaint = client.requests[1].messages[-1]
    assert complaint.role is Role.USER
    assert "files: Field required" in complaint.content
    assert "JSON only" in complaint.content


@pytest.mark.requirement("003-FR5-AC2", "003-FR5-AC3", "003-ERR-VALIDATION")
@pytest.mark.parametrize("repairs", [0, 2])
async def test_output_that_stays_invalid_comes_back_raw_with_a_flag_and_nothing_raises(repairs: int) -> None:
    client = ScriptedClient(lambda _: "I would rather not.")

    result = await run(client, agent(output=OutputConfig("report", Report, max_repairs=repairs)))

    assert (result.success, result.validated, result.output) == (False, False, None)
    assert result.raw_content == "I would rather not."
    assert result.terminate_reason is TerminateReason.COMPLETE
    assert isinstance(result.errors[0], OutputValidationError)
    assert result.errors[0].raw_output == "I would rather not."
    assert len(client.requests) == repairs + 1


@pytest.mark.requirement("003-FR5-AC3")
async def test_an_empty_answer_is_an_invalid_one() -> None:
    result = await run(["Working.", "", ""], agent(output=REPORT))

    assert (result.success, result.validated, result.raw_content) == (False, False, "")


@pytest.mark.requirement("003-FR2-AC1")
async def test_repairs_count_as_turns() -> None:
    result = await run(["no", "no"], agent(output=REPORT, max_turns=2))

    assert result.terminate_reason is TerminateReason.MAX_TURNS
    assert (result.success, result.validated, result.output, result.raw_content) == (False, False, None, "no")


async def test_tools_may_be_used_before_the_output_is_given() -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "a.py"

    result = await run([call("look"), GOOD], agent(look, output=REPORT))

    assert result.output == Report(summary="fine", files=["a.py"])


@pytest.mark.requirement("003-FR5")
async def test_a_model_without_support_is_told_the_schema_and_one_with_support_is_not() -> None:
    plain = ScriptedClient([GOOD])
    native = ScriptedClient([GOOD], info=ModelInfo(native_output=True))

    for client in (plain, native):
        assert (await run(client, agent(output=REPORT))).success

    assert '"summary"' in plain.requests[0].system
    assert native.requests[0].system == ""
    for client in (plain, native):
        declared = client.requests[0].output
        assert declared is not None
        assert declared.name == "report"
        assert declared.schema == Report.model_json_schema()


async def test_an_agent_without_a_schema_asks_for_none() -> None:
    client = ScriptedClient(["Hello."])

    await run(client, agent())

    assert client.requests[0].output is None
