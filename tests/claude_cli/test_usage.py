"""Usage is right whatever became of the run."""

from __future__ import annotations

from typing import Any

import pytest
from claude_agent_sdk import AssistantMessage, Message, ResultMessage, StreamEvent

from maverick.agents import extract_usage

MODEL = "claude-sonnet-4-5"
BEGUN = {
    "input_tokens": 100,
    "output_tokens": 1,
    "cache_creation_input_tokens": 7,
    "cache_read_input_tokens": 11,
}


def event(**fields: Any) -> StreamEvent:
    return StreamEvent(uuid="u", session_id="s", event=fields)


def started(number: int) -> StreamEvent:
    return event(type="message_start", message={"id": f"msg_{number}", "model": MODEL, "usage": BEGUN})


def ended(output: int) -> StreamEvent:
    return event(type="message_delta", usage={"output_tokens": output})


def result(**fields: Any) -> ResultMessage:
    given = {
        "subtype": "success",
        "duration_ms": 900,
        "duration_api_ms": 800,
        "is_error": False,
        "num_turns": 2,
    }
    return ResultMessage(**{**given, "session_id": "s", **fields})


def counted(inputs: int, output: int) -> dict[str, Any]:
    return {
        MODEL: {
            "inputTokens": inputs,
            "outputTokens": output,
            "cacheReadInputTokens": 0,
            "cacheCreationInputTokens": 0,
            "costUSD": 0.5,
        }
    }


@pytest.mark.requirement("000-SC-006", "000-FR-014")
def test_the_figures_of_a_run_that_ended_well_are_its_own() -> None:
    usage = extract_usage([started(1), ended(42), result(total_cost_usd=0.5, model_usage=counted(300, 60))])

    assert (usage.input_tokens, usage.output_tokens, usage.total_cost_usd) == (300, 60, 0.5)


@pytest.mark.requirement("000-SC-006")
def test_the_answers_that_came_count_when_the_run_gives_no_figures() -> None:
    usage = extract_usage([started(1), ended(42), started(2), result(is_error=True, total_cost_usd=0)])

    assert (usage.input_tokens, usage.output_tokens) == (236, 43)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (22, 14)
    assert usage.total_cost_usd == pytest.approx(0.001304, rel=0.01)


@pytest.mark.requirement("000-SC-006")
def test_an_answer_that_is_reported_more_than_once_counts_once() -> None:
    whole = AssistantMessage(content=[], model=MODEL, usage=BEGUN, message_id="msg_1")

    usage = extract_usage([started(1), whole, whole, ended(42)])

    assert (usage.input_tokens, usage.output_tokens) == (118, 42)


@pytest.mark.requirement("000-FR-014")
def test_a_cost_that_nobody_knows_is_none() -> None:
    odd = event(type="message_start", message={"id": "m", "model": "nobody-knows-it", "usage": BEGUN})

    assert extract_usage([odd]).total_cost_usd is None
    assert extract_usage([]).total_cost_usd is None


@pytest.mark.requirement("000-SC-006")
def test_the_duration_of_a_list_of_messages_is_the_one_it_tells() -> None:
    assert extract_usage([started(1), result()]).duration_ms == 900
    assert extract_usage([]).duration_ms == 0


@pytest.mark.requirement("000-SC-006", "000-FR-014")
def test_the_usage_of_a_run_counts_where_it_names_no_models() -> None:
    usage = extract_usage([result(usage=BEGUN | {"output_tokens": 5}, total_cost_usd=0.25)])

    assert (usage.input_tokens, usage.output_tokens, usage.total_cost_usd) == (118, 5, 0.25)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (11, 7)


@pytest.mark.requirement("000-SC-006")
@pytest.mark.parametrize(
    "messages",
    [
        [result(model_usage={MODEL: {"outputTokens": 60}})],
        [result(model_usage={MODEL: None}, usage={"output_tokens": 60})],
        [result(model_usage="none", usage={"output_tokens": 60, "input_tokens": None})],
        [result(usage={"output_tokens": 60, "input_tokens": "many"}, total_cost_usd="much")],
        [result(usage={"output_tokens": 60, "input_tokens": -3}, total_cost_usd=-1.0)],
        [result(usage={"output_tokens": 60.0}, num_turns=None, duration_ms=None)],
        [event(type="message_start"), ended(60)],
        [event(type="message_start", message={"usage": []}), event(type="message_delta"), ended(60)],
        [event(), started(1), event(type="message_delta", usage=None), ended(60), result(usage=[])],
        [None, started(1), ended(60)],
    ],
)
def test_data_that_is_partial_or_odd_never_raises_and_the_rest_of_it_counts(messages: list[Message]) -> None:
    usage = extract_usage(messages)

    assert usage.output_tokens == 60
    assert usage.input_tokens in {0, 118}


def test_no_messages_have_used_nothing() -> None:
    assert extract_usage(None) == extract_usage([])
