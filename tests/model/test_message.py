from __future__ import annotations

from typing import Any

import msgspec
import pytest

from maverick.exceptions import InvalidInputError
from maverick.model import Message, Role, Text, Thought, ToolCall


@pytest.mark.requirement("002-R4-ROLES", "002-AC4")
def test_the_three_roles_have_the_spelling_of_the_specification() -> None:
    assert [role.value for role in Role] == ["user", "assistant", "tool_result"]


@pytest.mark.requirement("002-R4-ROLES", "002-AC4")
def test_each_role_has_a_short_way_to_write_its_message() -> None:
    assert Message.user("hi") == Message(Role.USER, "hi") == Message("user", "hi")
    assert Message.assistant("hello") == Message(Role.ASSISTANT, "hello")
    assert Message.tool_result("call_1", "21 °C") == Message(Role.TOOL_RESULT, "21 °C", tool_call_id="call_1")


@pytest.mark.requirement("002-R4-ROLES")
def test_a_tool_result_names_its_call_and_may_tell_of_a_failure() -> None:
    message = Message.tool_result("call_1", "no such file", is_error=True)

    assert (message.tool_call_id, message.content, message.is_error) == ("call_1", "no such file", True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Message(Role.TOOL_RESULT, "an answer to nothing"),
        lambda: Message(Role.USER, "hi", tool_call_id="call_1"),
        lambda: Message(Role.ASSISTANT, "hi", tool_call_id="call_1"),
    ],
)
def test_only_a_tool_result_has_the_id_of_a_call_and_it_always_has_one(make: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make()

    assert caught.value.field == "tool_call_id"


def test_an_unknown_role_is_refused_with_the_choices() -> None:
    with pytest.raises(InvalidInputError, match="'assistant'") as caught:
        Message("system", "obey")

    assert caught.value.field == "role"


@pytest.mark.parametrize("content", [None, 7, [None], ["a string", 7], [{"type": "text"}]])
def test_content_that_is_neither_text_nor_parts_is_refused_by_name(content: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Message(Role.USER, content)

    assert caught.value.field == "content"


def test_text_thoughts_and_calls_are_told_apart_and_keep_their_order() -> None:
    parts = (Thought("hm "), Text("One "), ToolCall("call_1", "look"), Thought("so"), Text("moment."))
    message = Message.assistant(parts)

    assert message.parts == parts
    assert message.content == "One moment."
    assert message.thinking == "hm so"
    assert message.tool_calls == (ToolCall("call_1", "look"),)


def test_an_empty_text_makes_no_part() -> None:
    assert Message.user("").parts == ()
    assert Message.user("").content == ""


def test_a_message_can_not_be_changed() -> None:
    message = Message.user("hi")

    with pytest.raises(AttributeError):
        message.role = Role.ASSISTANT  # type: ignore[misc]
    with pytest.raises(AttributeError):
        message.parts[0].text = "ho"  # type: ignore[misc, union-attr]


def test_parts_go_through_json_and_back() -> None:
    parts = [
        Text("a"),
        Thought("b", signature="s"),
        ToolCall("1", "look", {"at": [1]}),
        ToolCall("2", "x", malformed="{"),
    ]

    decoded = msgspec.json.decode(msgspec.json.encode(parts), type=list[Text | Thought | ToolCall])

    assert decoded == parts
