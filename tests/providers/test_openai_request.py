"""Requests as Chat Completions bodies: what is sent, and that OpenAI's own types accept it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.model import (
    Document,
    History,
    Image,
    Message,
    Opaque,
    OutputSchema,
    Part,
    Request,
    RequestConfig,
    Role,
    Text,
    Thought,
    Tool,
    ToolCall,
)
from maverick.providers.openai.chat_request import ChatEncoder
from media_files import pdf, png
from wire.typed_dicts import as_typed


class Add:
    """Any object with these members is a tool."""

    name = "add"
    description = "Add two numbers."
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }

    async def execute(self, args: dict[str, Any], /) -> int:
        return int(args["a"]) + int(args["b"])


CALL = ToolCall("call_1", "add", {"a": 2, "b": 3})
CONVERSATION = (
    Message.user("What is 2 + 3?"),
    Message.assistant([Thought("A sum."), Text("Let me see."), CALL, ToolCall("call_2", "add", {"a": 1})]),
    Message.tool_result("call_1", "5"),
    Message.tool_result("call_2", "b is missing", is_error=True),
    Message.assistant("Five."),
    Message.user("Danke — 谢谢 🎉"),
)
OUTPUT = OutputSchema("report", {"type": "object", "properties": {"city": {"type": "string"}}})


def body_of(
    request: Request,
    *,
    encoder: ChatEncoder | None = None,
    stream: bool = False,
) -> dict[str, Any]:
    encoded = (encoder or ChatEncoder()).encode(request, model="test-model", stream=stream)
    body: dict[str, Any] = json.loads(b"".join(encoded))
    return body


def messages_of(*messages: Message, encoder: ChatEncoder | None = None) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = body_of(Request(messages), encoder=encoder)["messages"]
    return sent


@pytest.mark.requirement("002-R1")
def test_a_whole_conversation_is_sent_with_its_instructions_and_tools() -> None:
    body = body_of(Request(CONVERSATION, tools=[Add()], system="Be brief."))

    assert body == {
        "model": "test-model",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "add",
                    "description": "Add two numbers.",
                    "parameters": dict(Add.parameters),
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is 2 + 3?"},
            {
                "role": "assistant",
                "content": "Let me see.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"a":2,"b":3}'},
                    },
                    {"id": "call_2", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "5"},
            {"role": "tool", "tool_call_id": "call_2", "content": "b is missing"},
            {"role": "assistant", "content": "Five."},
            {"role": "user", "content": "Danke — 谢谢 🎉"},
        ],
    }


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "request_",
    [
        Request([Message.user("hi")]),
        Request(CONVERSATION, tools=(Add(),), system="Be brief."),
        Request(CONVERSATION, config=RequestConfig(max_tokens=5, temperature=0.5), output=OUTPUT),
    ],
)
def test_every_body_is_of_the_type_that_openai_declares(request_: Request, stream: bool) -> None:
    declared = CompletionCreateParamsStreaming if stream else CompletionCreateParamsNonStreaming
    body = body_of(request_, encoder=ChatEncoder(is_openai=True), stream=stream)

    assert as_typed(declared, body) == body


@pytest.mark.requirement("002-R1-CONFIG")
def test_settings_that_are_not_set_are_not_sent() -> None:
    assert body_of(Request([Message.user("hi")])).keys() == {"model", "messages"}


@pytest.mark.requirement("002-R1-CONFIG")
@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_token_limit_goes_under_the_name_the_server_knows(field: str) -> None:
    own = Request([Message.user("hi")], config=RequestConfig(max_tokens=7))
    encoder = ChatEncoder(is_openai=field == "max_completion_tokens", max_tokens=100)

    assert body_of(own, encoder=encoder)[field] == 7
    assert body_of(Request([Message.user("hi")]), encoder=encoder)[field] == 100


@pytest.mark.requirement("002-R1-CONFIG")
def test_a_temperature_of_zero_is_a_temperature() -> None:
    assert body_of(Request([Message.user("hi")], config=RequestConfig(temperature=0)))["temperature"] == 0


def test_a_stream_asks_for_the_usage_too() -> None:
    body = body_of(Request([Message.user("hi")]), stream=True)

    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}


def test_extra_fields_are_added_and_never_replace_another() -> None:
    encoder = ChatEncoder(extra={"seed": 7})
    asked = Request([Message.user("hi")], config=RequestConfig(extra={"user": "ana"}))

    assert body_of(asked, encoder=encoder).items() >= {"seed": 7, "user": "ana"}.items()
    for extra in ({"seed": 8}, {"model": "another"}):
        conflict = Request([Message.user("hi")], config=RequestConfig(extra=extra))
        with pytest.raises(InvalidInputError, match=next(iter(extra))):
            body_of(conflict, encoder=encoder)


def test_thoughts_stay_here_unless_the_server_wants_them_back() -> None:
    thought = Message.assistant([Thought("A sum."), Text("Five.")])

    assert messages_of(thought) == [{"role": "assistant", "content": "Five."}]
    assert messages_of(thought, encoder=ChatEncoder(thoughts_field="reasoning_content")) == [
        {"role": "assistant", "content": "Five.", "reasoning_content": "A sum."}
    ]


def test_a_call_without_words_has_no_content() -> None:
    (message,) = messages_of(Message.assistant([CALL]))

    assert message.keys() == {"role", "tool_calls"}


def test_malformed_arguments_go_back_as_valid_json() -> None:
    (message,) = messages_of(Message.assistant([ToolCall("call_1", "add", malformed='{"a": ')]))

    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_tool_that_failed_without_a_word_is_still_seen_to_have_failed() -> None:
    (message,) = messages_of(Message.tool_result("call_1", "", is_error=True))

    assert "failed" in message["content"]


def test_messages_with_nothing_in_them_are_left_out() -> None:
    empty = (Message.assistant([Thought("Hm.")]), Message.user(""), Message.assistant(""))

    assert messages_of(Message.user("hi"), *empty, Message.user("still there?")) == [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": "still there?"},
    ]


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("messages", [[], [Message.user("")], [Message.assistant([Thought("Hm.")])]])
def test_a_conversation_without_anything_to_say_is_refused_here(messages: list[Message]) -> None:
    with pytest.raises(InvalidInputError, match="nothing to send"):
        body_of(Request(messages, system="Be brief."))


@pytest.mark.requirement("P8")
def test_parameters_that_are_no_json_are_the_tools_fault() -> None:
    class Broken(Add):
        name = "broken"
        parameters: Mapping[str, Any] = {"type": "object", "default": object()}

    with pytest.raises(InvalidToolError, match="'broken'") as caught:
        body_of(Request([Message.user("hi")], tools=[Broken()]))

    assert caught.value.tool_name == "broken"


def test_half_a_surrogate_pair_does_not_spoil_the_request() -> None:
    (message,) = messages_of(Message.user("broken \ud83d here"))

    assert message["content"] == "broken \ufffd here"


def test_an_answer_is_held_to_a_schema_strictly_where_the_schema_allows_it() -> None:
    body = body_of(Request([Message.user("hi")], output=OUTPUT))

    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "report",
            "schema": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }


def test_a_schema_that_strict_output_cannot_say_is_sent_as_it_is() -> None:
    anything = {"type": "object", "additionalProperties": {"type": "string"}}
    body = body_of(Request([Message.user("hi")], output=OutputSchema("any", anything)))

    assert body["response_format"]["json_schema"] == {"name": "any", "schema": anything}


def test_a_schema_of_anything_but_an_object_is_sent_as_the_answer_in_one() -> None:
    defined = {"Dog": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
    union = {"anyOf": [{"$ref": "#/$defs/Dog"}, {"type": "integer"}], "$defs": defined}

    sent = body_of(Request([Message.user("hi")], output=OutputSchema("pet", union)))["response_format"]

    schema = sent["json_schema"]["schema"]
    assert sent["json_schema"]["strict"]
    assert (schema["type"], schema["required"], schema["additionalProperties"]) == (
        "object",
        ["answer"],
        False,
    )
    assert schema["properties"]["answer"] == {"anyOf": union["anyOf"]}
    assert schema["$defs"].keys() == {"Dog"}


@pytest.mark.parametrize(
    ("name", "sent"),
    [("weather report", "weather_report"), ("été", "_t_"), ("x" * 70, "x" * 64), ("", "answer")],
)
def test_the_name_of_an_output_is_made_one_that_the_api_takes(name: str, sent: str) -> None:
    body = body_of(Request([Message.user("hi")], output=OutputSchema(name, OUTPUT.schema)))

    assert body["response_format"]["json_schema"]["name"] == sent


def test_a_message_is_encoded_once_and_then_reused() -> None:
    arguments = {"a": 2}
    history = History([Message.user("hi"), Message.assistant([ToolCall("call_1", "add", arguments)])])
    encoder = ChatEncoder()
    first = body_of(Request(history), encoder=encoder)["messages"]

    arguments["a"] = 3  # would show if the message were encoded again
    later = body_of(Request(history.extended(Message.tool_result("call_1", "5"))), encoder=encoder)[
        "messages"
    ]

    assert later[:-1] == first
    assert later[-1] == {"role": "tool", "tool_call_id": "call_1", "content": "5"}


def test_the_tools_of_a_tuple_are_encoded_once_and_those_of_a_list_each_time() -> None:
    class Renamed(Add):
        name = "first"

    tool = Renamed()
    encoder = ChatEncoder()

    def names(tools: Sequence[Tool]) -> list[str]:
        body = body_of(Request([Message.user("hi")], tools=tools), encoder=encoder)
        return [declared["function"]["name"] for declared in body["tools"]]

    fixed, growing = (tool,), [tool]
    assert names(fixed) == names(growing) == ["first"]

    tool.name = "second"
    assert names(fixed) == ["first"]
    assert names(growing) == ["second"]


def test_an_earlier_view_of_a_history_is_sent_without_what_came_later() -> None:
    encoder = ChatEncoder()
    early = History([Message.user("one")])
    late = early.extended(Message.assistant("two"), Message.user("three"))
    fork = early.extended(Message.assistant("zwei"))

    sent = [body_of(Request(view), encoder=encoder)["messages"] for view in (late, early, fork, late)]

    assert [[message["content"] for message in messages] for messages in sent] == [
        ["one", "two", "three"],
        ["one"],
        ["one", "zwei"],
        ["one", "two", "three"],
    ]


def test_clients_that_send_thoughts_back_and_clients_that_do_not_can_share_a_history() -> None:
    history = History([Message.user("hi"), Message.assistant([Thought("Hm."), Text("Hello.")])])
    with_thoughts = ChatEncoder(thoughts_field="reasoning")

    assert body_of(Request(history), encoder=with_thoughts)["messages"][1]["reasoning"] == "Hm."
    assert "reasoning" not in body_of(Request(history))["messages"][1]


MESSAGES = st.one_of(
    st.builds(Message.user, st.text()),
    st.builds(Message.assistant, st.text()),
    st.builds(Message.tool_result, st.text(), st.text()),
)


@given(st.lists(MESSAGES, min_size=1, max_size=5), st.integers(min_value=1, max_value=40))
def test_a_history_sent_turn_by_turn_is_what_a_list_is_at_once(turn: list[Message], turns: int) -> None:
    encoder = ChatEncoder()
    history = History([Message.user("begin")])
    for _ in range(turns):
        history = history.extended(*turn)
        grown = body_of(Request(history), encoder=encoder)

    assert grown == body_of(Request(list(history)))
    roles = [Role.TOOL_RESULT if sent["role"] == "tool" else Role(sent["role"]) for sent in grown["messages"]]
    assert roles == [
        message.role for message in history if message.content or message.role is Role.TOOL_RESULT
    ]


PICTURE = Image.from_bytes(png(), name="shelf.png")
DATA = f"data:image/png;base64,{base64.b64encode(png()).decode()}"
IMAGE = {"type": "image_url", "image_url": {"url": DATA}}


def test_images_and_documents_are_sent_as_the_api_takes_them() -> None:
    parts: list[str | Part] = [
        "Look:",
        PICTURE,
        Image.from_url("https://shelves.example/a.png"),
        Document.from_bytes(pdf(), name="list.pdf"),
        Document.from_file_id("file-1"),
        Document.from_bytes(b"milk", name="list.txt"),
    ]
    request = Request([Message.user(parts)])
    body = body_of(request)

    data = f"data:application/pdf;base64,{base64.b64encode(pdf()).decode()}"
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "Look:"},
        IMAGE,
        {"type": "image_url", "image_url": {"url": "https://shelves.example/a.png"}},
        {"type": "file", "file": {"filename": "list.pdf", "file_data": data}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "text", "text": "list.txt:\n\nmilk"},
    ]
    assert as_typed(CompletionCreateParamsNonStreaming, body) == body


@pytest.mark.parametrize(
    "part", [Image.from_file_id("file-1"), Document.from_url("https://shelves.example/a.pdf")]
)
def test_media_that_the_api_cannot_take_is_refused_here(part: Part) -> None:
    with pytest.raises(InvalidInputError, match="Chat Completions does not take"):
        messages_of(Message.user([part]))


def test_what_a_tool_shows_comes_after_the_results_of_its_turn_and_stays_there() -> None:
    encoder = ChatEncoder()
    asked = Message.assistant([CALL, ToolCall("call_2", "add", {"a": 1})])
    shown = Message.tool_result("call_1", ["A shelf.", PICTURE])
    history = History([Message.user("Show me."), asked, shown, Message.tool_result("call_2", "1")])

    first = body_of(Request(history), encoder=encoder)["messages"]
    second = body_of(Request(history.extended(Message.assistant("Nice."))), encoder=encoder)["messages"]

    assert [message["role"] for message in first] == ["user", "assistant", "tool", "tool", "user"]
    assert first[2]["content"].startswith("A shelf.\n[image: shelf.png]")
    assert first[4]["content"] == [IMAGE]
    assert second[:-1] == first


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"effort": "low", "top_p": 0.5}, {"reasoning_effort": "low", "top_p": 0.5}),
        ({"effort": "max"}, {"reasoning_effort": "high"}),
        ({"thinking": "off"}, {"reasoning_effort": "none"}),
        ({"thinking": "adaptive", "cache": "5m"}, {}),
        ({"stop_sequences": ("END",)}, {"stop": ["END"]}),
        ({"tool_choice": "required"}, {"tool_choice": "required"}),
        ({"tool_choice": "add"}, {"tool_choice": {"type": "function", "function": {"name": "add"}}}),
    ],
)
def test_a_setting_is_sent_in_the_words_of_the_api(settings: dict[str, Any], sent: dict[str, Any]) -> None:
    body = body_of(Request([Message.user("hi")], tools=(Add(),), config=RequestConfig(**settings)))

    assert body.items() >= sent.items()
    assert as_typed(CompletionCreateParamsNonStreaming, body) == body


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"thinking": 1000}, "thinking"),
        ({"cache": "1h"}, "cache"),
        ({"server_tools": ("web_search",)}, "server_tools"),
        ({"tool_choice": "subtract"}, "tool_choice"),
        ({"extra": {"messages": []}}, "messages"),
    ],
)
def test_a_setting_that_cannot_be_sent_is_refused_by_its_name(settings: dict[str, Any], names: str) -> None:
    with pytest.raises(InvalidInputError, match=names):
        body_of(Request([Message.user("hi")], tools=(Add(),), config=RequestConfig(**settings)))


def test_blocks_of_other_apis_are_left_out_visibly(caplog: pytest.LogCaptureFixture) -> None:
    own = Opaque("openai", {"type": "reasoning"})
    sent = messages_of(
        Message.user("hi"),
        Message.assistant([Thought("", block=own), own, Text("Yes.", own)]),
        Message.user("?"),
    )

    assert sent[1] == {"role": "assistant", "content": "Yes."}
    assert caplog.text.count("left out") == 1
