from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from cli.runs_command import WILD
from maverick import AgentResult, AgentUsage, RunEnd
from maverick.cli.formatting import event_fields, json_text
from maverick.exceptions import RateLimitError
from maverick.loop.events import ErrorEvent

WHO: dict[str, Any] = {"run_id": "r", "trace_id": "t", "at": 1.0, "agent": ("clerk",)}


@given(st.text(st.characters()))
def test_it_is_printable_ascii_and_means_the_same(text: str) -> None:
    written = json_text({"said": text})

    assert written.isascii()
    assert written.isprintable()
    assert json.loads(written) == {"said": text}


def test_lone_surrogates_and_control_characters_come_back_as_they_were() -> None:
    assert json.loads(json_text([WILD])) == [WILD]


def test_an_error_is_told_by_its_fields() -> None:
    event = ErrorEvent(**WHO, error=RateLimitError("Slow down.", retry_after=3))

    told = json.loads(json_text(event_fields(event)))

    assert told["type"] == "error"
    assert told["error"]["type"] == "RateLimitError"
    assert told["error"]["message"] == "Slow down."


def test_a_result_can_be_told_whatever_the_type_of_its_output() -> None:
    class Report(BaseModel):
        cities: set[str]

    success = AgentResult.success_result(Report(cities={"Brest"}), AgentUsage(0, 0, None, 0))
    result = replace(success, raw_content='{"cities":["Brest"]}')

    told = json.loads(json_text(event_fields(RunEnd(**WHO, result=result))))

    assert (told["type"], told["agent"]) == ("run_end", ["clerk"])
    assert told["result"]["content"] == '{"cities":["Brest"]}'
    assert told["result"]["terminate_reason"] == "complete"
