"""Requests as bodies of OpenAI's Responses API: what is sent, and that the official SDK sends the same."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import openai
import pytest

from maverick.config import AgentConfig
from maverick.exceptions import InvalidInputError
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
    Text,
    Thought,
    ToolCall,
)
from maverick.providers import connect
from maverick.providers.openai.client import OpenAIResponsesClient
from maverick.providers.openai.responses_request import ResponsesEncoder
from media_files import pdf, png
from wire.asking import answered
from wire.openai_answers import call
from wire.responses_answers import function_call, message, reasoning
from wire.responses_server import CITATION, SEARCH, ResponsesServer

PDF = pdf()


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


class Find(Add):
    name = "find"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "limit": {"type": "integer", "default": 5}},
        "required": ["text"],
    }


def block(item: dict[str, Any]) -> Opaque:
    return Opaque("openai", item)


ITEMS = [
    reasoning("A sum."),
    SEARCH,
    reasoning(number=2),
    reasoning(number=3),
    message("Let me see.", annotations=[CITATION], phase="commentary"),
    function_call(call("call_1", "add", a=2, b=3)),
]
ANSWER = Message.assistant(
    [
        Thought("A sum.", block=block(ITEMS[0])),
        block(SEARCH),
        Thought("", block=block(ITEMS[2])),
        Thought("", block=block(ITEMS[3])),
        Text("Let me see.", block(ITEMS[4])),
        ToolCall("call_1", "add", {"a": 2, "b": 3}, block=block(ITEMS[5])),
    ]
)
HI = Message.user("hi")


def body_of(
    *messages: Message, model: str = "gpt-5.6", stream: bool = False, **settings: Any
) -> dict[str, Any]:
    of_request = {name: settings.pop(name) for name in ("tools", "system", "output") if name in settings}
    request = Request(messages or (HI,), config=RequestConfig(**settings), **of_request)
    body: dict[str, Any] = json.loads(
        b"".join(ResponsesEncoder().encode(request, model=model, stream=stream))
    )
    return body


def test_nothing_is_stored_and_encrypted_reasoning_is_asked_for() -> None:
    assert body_of() == {
        "model": "gpt-5.6",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [{"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-4o-mini", "ft:gpt-4.1:acme", "gpt-5.2-chat-latest"])
def test_a_model_that_does_not_reason_is_not_asked_for_reasoning(model: str) -> None:
    assert "include" not in body_of(model=model)


def test_every_item_goes_back_as_it_came_and_in_order() -> None:
    sent = body_of(HI, ANSWER, Message.tool_result("call_1", "5"))["input"]

    assert sent == [
        {"role": "user", "content": "hi"},
        *ITEMS,
        {"type": "function_call_output", "call_id": "call_1", "output": "5"},
    ]


def test_what_another_provider_said_goes_back_as_text_and_calls(caplog: pytest.LogCaptureFixture) -> None:
    claudes = Opaque("claude", {"type": "server_tool_use"})
    said: list[str | Part] = [
        Thought("Hm.", "signed"),
        claudes,
        Text("Yes.", claudes),
        ToolCall("c", "add", {"a": 1}),
        claudes,
    ]

    sent = body_of(HI, Message.assistant(said), Message.tool_result("c", "", is_error=True))["input"]

    assert sent[1:] == [
        {"role": "assistant", "content": "Yes."},
        {"type": "function_call", "call_id": "c", "name": "add", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c", "output": "The tool failed without a message."},
    ]
    assert caplog.text.count("left out") == 1


def test_reasoning_whose_item_never_came_is_left_out() -> None:
    cut_off = Message.assistant([ANSWER.parts[4], ANSWER.parts[0]])

    assert body_of(HI, cut_off, HI)["input"][1:-1] == [ITEMS[4]]


def test_images_and_documents_are_sent_as_data_or_as_where_they_are() -> None:
    picture, list_ = Image.from_bytes(png(2, 2)), Document.from_bytes(PDF, name="list.pdf")
    parts: list[str | Part] = [
        "What is it?",
        picture,
        Image.from_url("https://shelves.example/a.png"),
        Image.from_file_id("file-1"),
        list_,
        Document.from_bytes(b"milk"),
        Document.from_url("https://shelves.example/b.pdf"),
        Document.from_file_id("file-2"),
    ]
    sent = body_of(Message.user(parts), ANSWER, Message.tool_result("call_1", ["Here:", picture]))["input"]

    data = f"data:image/png;base64,{base64.b64encode(png(2, 2)).decode()}"
    image = {"type": "input_image", "detail": "auto", "image_url": data}
    pdf = f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}"
    assert sent[0] == {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What is it?"},
            image,
            {"type": "input_image", "detail": "auto", "image_url": "https://shelves.example/a.png"},
            {"type": "input_image", "detail": "auto", "file_id": "file-1"},
            {"type": "input_file", "filename": "list.pdf", "file_data": pdf},
            {
                "type": "input_file",
                "filename": "document.txt",
                "file_data": "data:text/plain;base64,bWlsaw==",
            },
            {"type": "input_file", "file_url": "https://shelves.example/b.pdf"},
            {"type": "input_file", "file_id": "file-2"},
        ],
    }
    assert sent[-1]["output"] == [{"type": "input_text", "text": "Here:"}, image]


def test_an_image_is_the_same_bytes_in_every_request() -> None:
    picture = Image.from_bytes(png(noise=b"x" * 100_000))
    history = History([Message.user(["Look:", picture])])
    encoder = ResponsesEncoder()
    sent = [
        encoder.encode(Request(view), model="gpt-5.6", stream=True)
        for view in (history, history.extended(Message.assistant("Yes."), HI))
    ]

    assert picture.blob is not None
    assert all(any(piece is picture.blob.base64 for piece in pieces) for pieces in sent)


def test_a_tool_is_strict_if_every_parameter_is_required() -> None:
    strict, loose = body_of(tools=(Add(), Find()))["tools"]

    assert (strict["type"], strict["name"], strict["strict"]) == ("function", "add", True)
    assert strict["parameters"]["additionalProperties"] is False
    assert loose["strict"] is False
    assert loose["parameters"] == Find.parameters


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        (
            {"max_tokens": 90, "temperature": 0, "top_p": 0.5},
            {"max_output_tokens": 90, "temperature": 0, "top_p": 0.5},
        ),
        ({"effort": "low"}, {"reasoning": {"effort": "low"}}),
        ({"effort": "max"}, {"reasoning": {"effort": "max"}}),
        ({"effort": "max", "model": "gpt-6-astra"}, {"reasoning": {"effort": "max"}}),
        ({"effort": "max", "model": "gpt-5.4"}, {"reasoning": {"effort": "xhigh"}}),
        ({"effort": "max", "model": "o3"}, {"reasoning": {"effort": "high"}}),
        ({"thinking": "adaptive"}, {"reasoning": {"summary": "auto"}}),
        ({"thinking": "off"}, {"reasoning": {"effort": "none"}}),
        ({"thinking": "off", "model": "gpt-4.1"}, {}),
        ({"cache": "5m"}, {}),
        ({"cache": "1h"}, {"prompt_cache_options": {"ttl": "12h"}}),
        ({"cache": "1h", "model": "gpt-5.4"}, {"prompt_cache_retention": "24h"}),
        ({"cache": "off"}, {"prompt_cache_options": {"mode": "explicit"}}),
        ({"extra": {"service_tier": "flex"}}, {"service_tier": "flex"}),
        (
            {"extra": {"include": ["web_search_call.action.sources"]}},
            {"include": ["reasoning.encrypted_content", "web_search_call.action.sources"]},
        ),
        ({"system": "Be brief."}, {"instructions": "Be brief."}),
        (
            {"server_tools": ("web_search", {"type": "file_search", "vector_store_ids": ["v"]})},
            {"tools": [{"type": "web_search"}, {"type": "file_search", "vector_store_ids": ["v"]}]},
        ),
        ({"tools": (Add(),), "tool_choice": "add"}, {"tool_choice": {"type": "function", "name": "add"}}),
        ({"tools": (Add(),), "tool_choice": "required"}, {"tool_choice": "required"}),
        (
            {"server_tools": ("code_execution",), "tool_choice": "code_execution"},
            {
                "tools": [{"type": "code_interpreter", "container": {"type": "auto"}}],
                "tool_choice": {
                    "type": "allowed_tools",
                    "mode": "required",
                    "tools": [{"type": "code_interpreter"}],
                },
            },
        ),
        (
            {"output": OutputSchema("a report", {"type": "object", "properties": {"a": {"type": "string"}}})},
            {
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "a_report",
                        "schema": {
                            "type": "object",
                            "properties": {"a": {"type": "string"}},
                            "required": ["a"],
                            "additionalProperties": False,
                        },
                        "strict": True,
                    }
                }
            },
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value,
)
async def test_a_setting_is_sent_in_the_words_of_the_api_and_as_the_official_sdk_sends_it(
    server: ResponsesServer, settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    body = body_of(**settings)

    assert body.items() >= sent.items()
    async with openai.AsyncOpenAI(base_url=server.at("text"), api_key="none", max_retries=0) as theirs:
        await theirs.responses.create(**body)
    assert server.received[0].body == body


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"stop_sequences": ("END",)}, "stop_sequences"),
        ({"thinking": 1000}, "thinking"),
        ({"thinking": "off", "effort": "low"}, "thinking"),
        ({"thinking": "off", "model": "o3"}, "thinking"),
        ({"cache": "off", "model": "gpt-5.4"}, "cache"),
        ({"server_tools": ("file_search",)}, "server_tools"),
        ({"tools": (Add(),), "tool_choice": "subtract"}, "tool_choice"),
        ({"max_tokens": 50, "extra": {"max_output_tokens": 60}}, "max_output_tokens"),
        ({"extra": {"store": True}}, "store"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value,
)
def test_a_setting_that_cannot_be_sent_is_refused_by_its_name(settings: dict[str, Any], names: str) -> None:
    with pytest.raises(InvalidInputError, match=names):
        body_of(**settings)


@pytest.fixture
async def server() -> AsyncIterator[ResponsesServer]:
    async with ResponsesServer() as server:
        yield server


async def test_a_conversation_with_everything_in_it_is_taken(server: ResponsesServer) -> None:
    picture = Image.from_bytes(png(2, 2))
    messages = (
        Message.user(["Look:", picture, Document.from_bytes(PDF)]),
        ANSWER,
        Message.tool_result("call_1", ["5", picture]),
        HI,
    )
    client = OpenAIResponsesClient("gpt-5.6", base_url=server.at("text"))
    config = RequestConfig(effort="high", thinking="adaptive", server_tools=("web_search",), cache="1h")

    response = await answered(client, Request(messages, tools=(Add(), Find()), config=config))

    assert response.content


@pytest.mark.parametrize(
    ("model", "base_url", "thinks"),
    [
        ("gpt-5.1", None, True),
        ("o3", None, True),
        ("gpt-4o", None, False),
        ("gpt-5.1", "http://127.0.0.1:11434/v1", False),
    ],
)
def test_models_of_openai_that_reason_are_known_to_think(
    model: str, base_url: str | None, thinks: bool
) -> None:
    client = connect(f"openai:{model}", api_key="k", base_url=base_url, settings=AgentConfig())

    assert client.model_info(f"openai:{model}").thinks is thinks
