"""Conversations kept as bytes, and taken over from programs that were written for a vendor's SDK."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from maverick import (
    AgentDefinition,
    AgentExecutor,
    Document,
    Image,
    Message,
    dump_messages,
    load_messages,
    messages_from_anthropic,
    messages_from_openai,
)
from maverick.exceptions import AgentError, InvalidInputError, NetworkError
from maverick.model import Opaque, Role, Text, Thought, ToolCall
from maverick.testing import ScriptedClient, reply
from media_files import png

PICTURE = Image.from_bytes(png(2, 3), name="shelf.png")
CONVERSATION = [
    Message.user(["What is on it? 😀 日本 \udc80", PICTURE, Document.from_bytes(b"a list", name="list.txt")]),
    Message.assistant(
        [
            Thought("hm", "signature"),
            Text("Tea.", Opaque("claude", {"type": "text", "text": "Tea.", "citations": [{"url": "u"}]})),
            Opaque("claude", {"type": "server_tool_use", "id": "s"}),
            ToolCall("c1", "count", {"of": ["tea", 1.5, None]}),
        ]
    ),
    Message.tool_result("c1", ["three", PICTURE], is_error=True),
]


def test_a_conversation_comes_back_as_it_was() -> None:
    loaded = load_messages(dump_messages(CONVERSATION))

    assert loaded == CONVERSATION
    assert isinstance(picture := loaded[0].parts[1], Image)
    assert picture.blob is not None
    assert picture.blob.data == png(2, 3)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b'{"messages": [{"role": "nobody"}]}',
        b'{"messages": [], "version": 2}',
        b'{"messages": 3}',
    ],
)
def test_what_is_not_a_conversation_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInputError, match=r"dump_messages|newer Maverick"):
        load_messages(data)


def test_a_conversation_whose_calls_have_no_result_is_neither_written_nor_read() -> None:
    with pytest.raises(InvalidInputError, match="has no result"):
        dump_messages(CONVERSATION[:2])


async def test_a_result_tells_what_the_run_has_added_and_a_later_run_goes_on_with_it() -> None:
    agent: AgentDefinition[str] = AgentDefinition(name="a", description="b")
    executor = AgentExecutor(ScriptedClient([reply("Hi."), reply("Again.")]))
    first = await executor.execute(agent, inputs={"prompt": "One."})

    second = await executor.execute(
        agent, inputs={"prompt": "Two."}, messages=load_messages(dump_messages(first.messages))
    )

    assert [message.content for message in second.new_messages] == ["Two.", "Again."]
    assert [message.content for message in second.messages] == ["One.", "Hi.", "Two.", "Again."]
    assert second.unwrap() == "Again."


async def test_a_failed_run_is_unwrapped_to_its_error() -> None:
    agent: AgentDefinition[str] = AgentDefinition(name="a", description="b")
    failure = NetworkError("The model is away.", retryable=False)

    result = await AgentExecutor(ScriptedClient([failure])).execute(agent, inputs={"prompt": "One."})

    with pytest.raises(AgentError, match="away"):
        result.unwrap()


ENCODED = base64.b64encode(png(2, 3)).decode()


def test_a_conversation_of_the_anthropic_sdk_is_taken_over_block_by_block() -> None:
    given: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                {"type": "tool_use", "id": "c1", "name": "count", "input": {"of": "tea"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "3", "is_error": True},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
                {"type": "text", "text": "and this?"},
            ],
        },
    ]

    taken = messages_from_anthropic(given)

    assert [message.role for message in taken] == [Role.USER, Role.ASSISTANT, Role.TOOL_RESULT, Role.USER]
    assert taken[1].parts == (
        Thought("hm", "s"),
        Opaque("claude", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
        ToolCall("c1", "count", {"of": "tea"}),
    )
    assert taken[2].is_error
    assert taken[3].parts == (Image.from_bytes(png(2, 3)), Text("and this?"))


def test_a_conversation_of_the_openai_sdk_is_taken_over() -> None:
    function = {"name": "count", "arguments": '{"of": "tea"}'}
    given: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "assistant", "content": "Three."},
    ]

    taken = messages_from_openai(given)

    assert taken == [
        Message.user(["What is it?", Image.from_bytes(png(2, 3))]),
        Message.assistant([ToolCall("c1", "count", {"of": "tea"})]),
        Message.tool_result("c1", "3"),
        Message.assistant("Three."),
    ]


@pytest.mark.parametrize(
    ("convert", "message", "why"),
    [
        (messages_from_openai, {"role": "system", "content": "Be nice."}, "system_prompt"),
        (messages_from_openai, {"role": "user"}, "'content' is missing"),
        (messages_from_openai, {"role": "user", "content": [{"type": "input_audio"}]}, "input_audio"),
        (messages_from_anthropic, {"role": "system", "content": "x"}, "it has the role 'system'"),
        (messages_from_anthropic, {"role": "user", "content": 3}, "cannot be read"),
        (messages_from_anthropic, "hello", "expected a dictionary"),
    ],
)
def test_what_cannot_be_taken_over_is_named(convert: Any, message: Any, why: str) -> None:
    with pytest.raises(InvalidInputError, match=why):
        convert([message])
