"""Whatever a model says comes as the same response from every provider, as a whole and as a stream."""

from __future__ import annotations

import json

import pytest

from conformance.providers.asking import ADD_ONCE, ADD_TWICE_AND_TELL_THE_TIME, HI, Way, add, ask, now
from conformance.providers.provider import Provider
from conformance.providers.roster import both_ways, each_provider
from conformance.providers.scenarios import Scenario
from maverick.model import (
    Message,
    OutputSchema,
    Request,
    RequestConfig,
    Response,
    StopReason,
    Thought,
)

PLACE = OutputSchema(
    "place",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
)


async def answer(provider: Provider, scenario: Scenario, way: Way, request: Request = HI) -> Response:
    async with provider.stage(scenario) as stage:
        return await ask(stage.client, request, way)


@pytest.mark.requirement("002-R1", "002-R3")
@both_ways
@each_provider(Scenario.TEXT)
async def test_words_come_with_what_they_used_and_why_they_ended(provider: Provider, way: Way) -> None:
    response = await answer(provider, Scenario.TEXT, way)

    assert response.content == provider.hello
    assert response.tool_calls == ()
    assert response.stop_reason is StopReason.COMPLETE
    assert response.usage.input_tokens > 0
    assert response.usage.output_tokens > 0


@both_ways
@each_provider(Scenario.CACHED)
async def test_what_is_read_from_and_written_to_the_cache_is_part_of_the_input(
    provider: Provider, way: Way
) -> None:
    response = await answer(provider, Scenario.CACHED, way)

    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens) == (118, 42)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (11, 7)


@pytest.mark.requirement("002-R3-STOP")
@both_ways
@each_provider(Scenario.TOOL)
async def test_a_tool_is_asked_for_with_its_arguments(provider: Provider, way: Way) -> None:
    request = Request([Message.user(ADD_ONCE)], tools=(add, now))
    response = await answer(provider, Scenario.TOOL, way, request)

    (call,) = response.tool_calls
    assert (call.tool_name, call.arguments, call.malformed) == ("add", {"a": 2, "b": 3}, "")
    assert call.id
    assert response.stop_reason is StopReason.TOOL_USE


@both_ways
@each_provider(Scenario.PARALLEL_TOOLS)
async def test_several_tools_are_asked_for_at_once_and_in_order(provider: Provider, way: Way) -> None:
    request = Request([Message.user(ADD_TWICE_AND_TELL_THE_TIME)], tools=(add, now))
    response = await answer(provider, Scenario.PARALLEL_TOOLS, way, request)

    assert [(call.tool_name, call.arguments) for call in response.tool_calls] == [
        ("add", {"a": 1, "b": 2}),
        ("add", {"a": 3, "b": 4}),
        ("now", {}),
    ]
    assert len({call.id for call in response.tool_calls} - {""}) == 3
    assert response.stop_reason is StopReason.TOOL_USE


@pytest.mark.requirement("002-R4-ROLES")
@both_ways
@each_provider(Scenario.ECHO)
async def test_the_results_of_tools_reach_the_model(provider: Provider, way: Way) -> None:
    async with provider.stage(Scenario.PARALLEL_TOOLS, Scenario.ECHO) as stage:
        question = Message.user(ADD_TWICE_AND_TELL_THE_TIME)
        wish = await ask(stage.client, Request([question], tools=(add, now)), way)
        results = [Message.tool_result(call.id, f"the result of {call.id}") for call in wish.tool_calls]
        told = await ask(stage.client, Request([question, wish.message, *results], tools=(add, now)), way)

    assert told.content == f"the result of {wish.tool_calls[-1].id}"


@both_ways
@each_provider(Scenario.THINKING)
async def test_thoughts_are_told_apart_from_words_and_can_be_sent_back(provider: Provider, way: Way) -> None:
    async with provider.stage(Scenario.THINKING, Scenario.ECHO) as stage:
        response = await ask(stage.client, HI, way)
        following = [*HI.messages, response.message, Message.user("Sure?")]
        echoed = await ask(stage.client, Request(following), way)

    assert response.message.thinking == "The sum of two numbers."
    assert response.content == "Five."
    assert isinstance(response.parts[0], Thought)
    assert echoed.content == "Sure?"


@pytest.mark.requirement("003-G4")
@both_ways
@each_provider(Scenario.STRUCTURED)
async def test_an_answer_has_the_shape_that_was_asked_for(provider: Provider, way: Way) -> None:
    request = Request([Message.user("Where is it?")], output=PLACE)
    response = await answer(provider, Scenario.STRUCTURED, way, request)

    place = json.loads(response.content)
    assert place.keys() == {"city"}
    assert isinstance(place["city"], str)


@pytest.mark.requirement("F-STOP")
@both_ways
@each_provider(Scenario.REFUSAL)
async def test_a_refusal_has_its_stop_reason(provider: Provider, way: Way) -> None:
    response = await answer(provider, Scenario.REFUSAL, way)

    assert response.stop_reason is StopReason.REFUSAL
    assert response.content == "I can't help with that."


@pytest.mark.requirement("F-STOP")
@both_ways
@each_provider(Scenario.PAUSE)
async def test_a_pause_has_its_stop_reason(provider: Provider, way: Way) -> None:
    assert (await answer(provider, Scenario.PAUSE, way)).stop_reason is StopReason.PAUSE


@pytest.mark.requirement("F-STOP")
@both_ways
@each_provider(Scenario.MAX_TOKENS)
async def test_text_that_was_cut_off_has_its_stop_reason(provider: Provider, way: Way) -> None:
    request = Request([Message.user("Tell me a story.")], config=RequestConfig(max_tokens=16))
    response = await answer(provider, Scenario.MAX_TOKENS, way, request)

    assert response.stop_reason is StopReason.MAX_TOKENS
    assert response.content


@pytest.mark.requirement("F-STOP", "P3")
@both_ways
@each_provider(Scenario.TOOL_CUT_OFF)
async def test_a_call_that_was_cut_off_cannot_be_mistaken_for_a_whole_one(
    provider: Provider, way: Way
) -> None:
    response = await answer(provider, Scenario.TOOL_CUT_OFF, way)

    assert response.stop_reason is StopReason.MAX_TOKENS
    assert [bool(call.malformed) for call in response.tool_calls] == [False, True]


@pytest.mark.requirement("F-STOP", "P3")
@both_ways
@each_provider(Scenario.TOOL_CUT_BEFORE_ARGUMENTS)
async def test_a_call_that_was_cut_off_before_its_arguments_is_no_call_without_any(
    provider: Provider, way: Way
) -> None:
    response = await answer(provider, Scenario.TOOL_CUT_BEFORE_ARGUMENTS, way)

    assert response.stop_reason is StopReason.MAX_TOKENS
    assert all(call.malformed for call in response.tool_calls)


@pytest.mark.requirement("P3")
@both_ways
@each_provider(Scenario.TOOL_ARGUMENTS_MALFORMED)
async def test_arguments_that_are_no_object_do_not_cost_the_answer(provider: Provider, way: Way) -> None:
    response = await answer(provider, Scenario.TOOL_ARGUMENTS_MALFORMED, way)

    (call,) = response.tool_calls
    assert (call.tool_name, call.arguments) == ("add", {})
    assert call.malformed
