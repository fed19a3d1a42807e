"""Answers that did not simply end: cut off, refused, paused, empty."""

from __future__ import annotations

import pytest

from maverick import OutputConfig, TerminateReason, tool
from maverick.exceptions import LimitExceededError, RefusalError
from maverick.loop import ToolOutcome
from maverick.model import Message, Response, StopReason
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent, assert_valid, results_in, run

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool
async def act(what: str = "it") -> str:
    """Act."""
    ran.append(what)
    return "done"


@pytest.mark.requirement("F-STOP", "002-R3-STOP")
@pytest.mark.parametrize(
    ("reason", "limit", "advice"),
    [
        (StopReason.MAX_TOKENS, "max_tokens", "ModelConfig.max_tokens"),
        (StopReason.CONTEXT_OVERFLOW, "context_window", "Shorten"),
    ],
)
async def test_an_answer_that_was_cut_off_is_no_success_but_kept(
    reason: StopReason, limit: str, advice: str
) -> None:
    result = await run([reply("Half an ans", stop_reason=reason)], agent())

    assert (result.success, result.terminate_reason) == (False, TerminateReason.MAX_TOKENS)
    assert (result.output, result.raw_content) == (None, "Half an ans")
    (error,) = result.errors
    assert isinstance(error, LimitExceededError)
    assert error.limit == limit
    assert advice in str(error)


@pytest.mark.requirement("F-STOP", "P3")
@pytest.mark.parametrize("reason", [StopReason.MAX_TOKENS, StopReason.CONTEXT_OVERFLOW])
async def test_calls_of_an_answer_that_was_cut_off_are_not_run_but_may_be_made_again(
    reason: StopReason,
) -> None:
    script: Script = [calls(call("act", what="half"), stop_reason=reason), call("act", what="whole"), "Done."]

    result = await run(script, agent(act))

    assert (result.output, ran) == ("Done.", ["whole"])
    assert "cut off" in results_in(result.messages)[0]
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.DENIED, ToolOutcome.FINISHED]
    assert_valid(result.messages)


@pytest.mark.requirement("F-STOP")
async def test_a_refusal_ends_the_run_as_one() -> None:
    result = await run([reply("I can not help with that.", stop_reason=StopReason.REFUSAL)], agent())

    assert (result.success, result.terminate_reason) == (False, TerminateReason.REFUSED)
    assert isinstance(result.errors[0], RefusalError)
    assert "Rephrase" in str(result.error)
    assert result.raw_content == "I can not help with that."


@pytest.mark.requirement("F-STOP", "P3")
async def test_calls_of_a_refusal_are_not_run() -> None:
    script: Script = [calls(call("act"), stop_reason=StopReason.REFUSAL), "never"]

    result = await run(script, agent(act))

    assert (result.terminate_reason, ran) == (TerminateReason.REFUSED, [])
    assert_valid(result.messages)


@pytest.mark.requirement("F-STOP")
async def test_a_pause_is_answered_by_asking_the_model_to_go_on() -> None:
    client = ScriptedClient([reply("Thinking of it. ", stop_reason=StopReason.PAUSE), "Done."])

    result = await run(client, agent())

    assert (result.success, result.output, result.turn_count) == (True, "Done.", 2)
    assert client.requests[1].messages[-1] == Message.assistant("Thinking of it. ")


@pytest.mark.requirement("F-STOP")
async def test_endless_pauses_end_at_the_turns() -> None:
    client = ScriptedClient(lambda _: reply("Hm.", stop_reason=StopReason.PAUSE))

    result = await run(client, agent(max_turns=3))

    assert result.terminate_reason is TerminateReason.MAX_TURNS


@pytest.mark.requirement("F-STOP")
async def test_an_empty_answer_ends_the_run_and_leaves_no_empty_message() -> None:
    result = await run([Response("")], agent())

    assert (result.success, result.output) == (True, "")
    assert list(result.messages) == [Message.user("Do it.")]


@pytest.mark.requirement("002-R4-TOOLS", "P3")
async def test_calls_are_run_whatever_the_provider_calls_the_stop() -> None:
    script: Script = [calls(call("act"), stop_reason=StopReason.COMPLETE), "Done."]

    result = await run(script, agent(act))

    assert (result.output, ran) == ("Done.", ["it"])


@pytest.mark.requirement("003-FR5-AC2")
async def test_structured_output_that_was_cut_off_is_not_repaired_but_told() -> None:
    client = ScriptedClient([reply('{"a": ', stop_reason=StopReason.MAX_TOKENS), "never"])

    result = await run(client, agent(output=OutputConfig("value", dict[str, int])))

    assert result.terminate_reason is TerminateReason.MAX_TOKENS
    assert (result.output, result.validated, result.raw_content) == (None, False, '{"a": ')
    assert len(client.requests) == 1


@pytest.mark.requirement("003-FR2-AC1")
async def test_words_beside_a_tool_call_are_the_answer_of_a_model_that_says_nothing_after_it() -> None:
    result = await run([("It is 4.", call("act")), ""], agent(act))

    assert (result.success, result.output) == (True, "It is 4.")
