"""Reading an answer as a value of a declared type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from maverick import OutputConfig
from maverick.exceptions import OutputValidationError


class Report(BaseModel):
    summary: str
    files: list[str] = Field(min_length=1)


@dataclass
class Point:
    x: int
    y: int


class Labels(TypedDict):
    colour: str


GOOD = '{"summary": "fine", "files": ["a.py"]}'
REPORT = Report(summary="fine", files=["a.py"])


READER = OutputConfig("result", Report).format


def parse(schema: Any, text: str) -> Any:
    return OutputConfig("result", schema).format.parse(text)


@pytest.mark.requirement("003-FR5", "003-FR5-AC1", "003-G4")
@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  \n{GOOD}\n ",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"```JSON\n{GOOD}\n```",
        f"Here it is:\n```json\n{GOOD}\n```\nI hope it helps.",
        f"Here it is: {GOOD} I hope it helps.",
        f'```json\n{{"draft": true}}\n```\nBetter:\n```json\n{GOOD}\n```',
    ],
    ids=[
        "bare",
        "spaced",
        "fenced",
        "fence without name",
        "loud fence",
        "between words",
        "in a line",
        "second fence",
    ],
)
def test_json_is_found_wherever_the_model_put_it(text: str) -> None:
    assert parse(Report, text) == REPORT


@pytest.mark.requirement("003-FR5-AC1")
@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (int, "42", 42),
        (bool, "true", True),
        (list[int], "The list: [1, 2, 3].", [1, 2, 3]),
        (dict[str, float], '{"a": 0.5}', {"a": 0.5}),
        (Literal["yes", "no"], '"yes"', "yes"),
        (Point, '{"x": 1, "y": 2}', Point(1, 2)),
        (Labels, '{"colour": "red"}', {"colour": "red"}),
        (list[Point], '```json\n[{"x": 1, "y": 2}]\n```', [Point(1, 2)]),
        (int | None, "null", None),
    ],
)
def test_any_type_can_be_declared(schema: Any, text: str, value: Any) -> None:
    assert parse(schema, text) == value


@pytest.mark.requirement("003-FR5-AC3")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Invalid JSON"),
        ("I would rather not.", "Invalid JSON"),
        ("{", "Invalid JSON"),
        ('{"summary": "fine"}', "files: Field required"),
        ('{"summary": 3, "files": []}', "summary: Input should be a valid string"),
        ("[]", "answer: "),
    ],
)
def test_an_answer_that_does_not_fit_is_a_typed_error_that_lists_what_is_wrong(
    text: str, problem: str
) -> None:
    with pytest.raises(OutputValidationError) as caught:
        parse(Report, text)

    assert problem in str(caught.value)
    assert "not a valid result" in str(caught.value)
    assert caught.value.raw_output == text


def test_a_long_list_of_problems_is_cut_and_counted() -> None:
    with pytest.raises(OutputValidationError, match="and 12 more"):
        parse(list[int], json.dumps(["x"] * 20))


@pytest.mark.requirement("003-FR5-AC3")
@given(st.text(alphabet='{}[]"`\n jsonx:,1\\é'))
def test_no_text_makes_the_reader_raise_anything_else(text: str) -> None:
    try:
        value = READER.parse(text)
    except OutputValidationError:
        return
    assert isinstance(value, Report)


def test_the_instructions_hold_the_name_and_the_schema() -> None:
    instructions = OutputConfig("verdict", Report).format.instructions()

    assert "the verdict" in instructions
    assert json.loads(instructions[instructions.index("{") :]) == Report.model_json_schema()


def test_problems_are_those_of_the_json_in_the_answer() -> None:
    with pytest.raises(OutputValidationError, match="summary: Field required"):
        parse(Report, 'Here you are:\n```json\n{"score": 3}\n```')
