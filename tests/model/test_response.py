from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from maverick.model import Message, Response, Role, StopReason, Text, Thought, ToolCall, Usage

LOOK = ToolCall("call_1", "look", {"at": "it"})


@pytest.mark.requirement("002-R3", "002-AC3")
def test_a_response_has_content_tool_calls_usage_and_stop_reason() -> None:
    response = Response("One moment.", [LOOK], Usage(12, 3), StopReason.TOOL_USE)

    assert response.content == "One moment."
    assert response.tool_calls == (LOOK,)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (12, 3)
    assert response.stop_reason is StopReason.TOOL_USE


@pytest.mark.requirement("002-R3-STOP")
def test_the_stop_reasons_of_the_specification_have_its_spelling() -> None:
    assert [StopReason.COMPLETE, StopReason.TOOL_USE, StopReason.MAX_TOKENS] == [
        "complete",
        "tool_use",
        "max_tokens",
    ]


@pytest.mark.requirement("002-R3")
def test_without_a_stop_reason_tool_calls_decide_it() -> None:
    assert Response("done").stop_reason is StopReason.COMPLETE
    assert Response("", [LOOK]).stop_reason is StopReason.TOOL_USE
    assert Response([LOOK]).stop_reason is StopReason.TOOL_USE
    assert Response([LOOK], stop_reason=StopReason.MAX_TOKENS).stop_reason is StopReason.MAX_TOKENS


def test_the_answer_becomes_a_message_with_all_its_parts_in_order() -> None:
    response = Response([Thought("hm"), Text("One moment."), LOOK])

    assert response.message == Message(Role.ASSISTANT, [Thought("hm"), Text("One moment."), LOOK])
    assert response.content == "One moment."


def test_an_empty_response_is_complete_and_used_nothing() -> None:
    response = Response()

    assert (response.parts, response.content, response.tool_calls) == ((), "", ())
    assert (response.stop_reason, response.usage) == (StopReason.COMPLETE, Usage())


def test_a_response_can_not_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Response("done").usage = Usage(1, 1)  # type: ignore[misc]
