"""What a request looks like on the wire of the Claude Messages API."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.model import (
    Blob,
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
from maverick.providers.claude import messages as claude_messages
from maverick.providers.claude.client import connect
from maverick.providers.claude.request import DEFAULT_MAX_TOKENS, RequestEncoder, request_headers
from maverick.providers.claude.response import read_message
from maverick.providers.http import wire_json
from maverick.providers.http.exchange import Exchange
from maverick.providers.http.wire_json import HeadCache
from maverick.providers.prices import PriceTable
from media_files import pdf, png
from wire.claude_blocks import KEPT, READ

MARKER = {"type": "ephemeral"}


class Add:
    """A tool that counts how often it is looked at."""

    name = "add"
    description = "Add two numbers."

    def __init__(self, parameters: Mapping[str, Any] | None = None) -> None:
        self._parameters = parameters or {"properties": {"a": {"type": "integer"}}}
        self.looked_at = 0

    @property
    def parameters(self) -> Mapping[str, Any]:
        self.looked_at += 1
        return self._parameters

    async def execute(self, args: dict[str, Any], /) -> int:
        raise AssertionError("a codec runs no tools")


def body_of(
    request: Request, encoder: RequestEncoder | None = None, *, stream: bool = False
) -> dict[str, Any]:
    if encoder is None:  # of these, no test looks at the cache
        encoder, config = RequestEncoder(), request.config
        request = replace(request, config=replace(config, cache=config.cache or "off"))
    raw = encoder.encode(request, model="claude-test", stream=stream)
    body: dict[str, Any] = json.loads(b"".join(raw))
    return body


def messages_of(*messages: Message, encoder: RequestEncoder | None = None) -> list[dict[str, Any]]:
    messages_on_wire: list[dict[str, Any]] = body_of(Request(messages), encoder)["messages"]
    return messages_on_wire


def call(number: int) -> ToolCall:
    return ToolCall(f"toolu_{number}", "add", {"a": number})


def turn(number: int, calls: int = 1) -> list[Message]:
    ids = range(number * 100, number * 100 + calls)
    return [
        Message.assistant([call(i) for i in ids]),
        *(Message.tool_result(f"toolu_{i}", str(i)) for i in ids),
    ]


@pytest.mark.requirement("002-R5", "002-AC9")
def test_a_request_has_the_model_the_limit_and_the_messages_and_nothing_that_was_not_asked_for() -> None:
    assert body_of(Request([Message.user("hi")])) == {
        "model": "claude-test",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }


@pytest.mark.requirement("002-R5", "002-AC9")
def test_every_setting_has_its_field() -> None:
    config = RequestConfig(max_tokens=7, temperature=0.0)
    request = Request([Message.user("hi")], (Add(),), config, system="Be brief.")
    assert body_of(request, stream=True) == {
        "model": "claude-test",
        "max_tokens": 7,
        "temperature": 0.0,
        "stream": True,
        "system": "Be brief.",
        "tools": [
            {
                "name": "add",
                "description": "Add two numbers.",
                "input_schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
            }
        ],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    }


@pytest.mark.requirement("002-R5", "002-AC9")
def test_tool_results_in_a_row_become_one_message_of_the_user() -> None:
    messages = messages_of(
        Message.user("go"),
        Message.assistant([Text("On it."), call(1), call(2)]),
        Message.tool_result("toolu_1", "one"),
        Message.tool_result("toolu_2", "no such file", is_error=True),
    )
    assert messages[1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "On it."},
                {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}},
                {"type": "tool_use", "id": "toolu_2", "name": "add", "input": {"a": 2}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "content": "no such file",
                    "is_error": True,
                },
            ],
        },
    ]


def test_tool_results_come_before_anything_else_the_user_says() -> None:
    messages = messages_of(
        Message.user("go"),
        Message.assistant([call(1)]),
        Message.user("Hurry up."),
        Message.tool_result("toolu_1", "one"),
        Message.user("Please."),
    )
    assert [block["type"] for block in messages[2]["content"]] == ["tool_result", "text", "text"]
    assert [block["text"] for block in messages[2]["content"][1:]] == ["Hurry up.", "Please."]


def test_messages_of_one_side_in_a_row_become_one() -> None:
    messages = messages_of(
        Message.user("a"),
        Message.user("b"),
        Message.assistant("c"),
        Message.assistant("d"),
        Message.user("e"),
    )
    assert [(m["role"], [block["text"] for block in m["content"]]) for m in messages] == [
        ("user", ["a", "b"]),
        ("assistant", ["c", "d"]),
        ("user", ["e"]),
    ]


def test_thoughts_go_back_in_order_with_their_signatures() -> None:
    thoughts: list[Part] = [
        Thought("Hm.", "c2ln"),
        Thought("", redacted="ZGF0YQ=="),
        Text("Yes."),
        Thought("And?", "c2ln"),
    ]
    messages = messages_of(Message.user("go"), Message.assistant(thoughts), Message.user("ok"))
    assert messages[1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "Yes."},
        {"type": "thinking", "thinking": "And?", "signature": "c2ln"},
    ]


def test_what_the_api_would_refuse_is_left_out() -> None:
    messages = messages_of(
        Message.user("go"),
        Message.assistant([Thought("unsigned"), Text("\n\n"), Text("")]),
        Message.assistant(""),
        Message.user(""),
        Message.user("still there?"),
    )
    assert [[block["text"] for block in m["content"]] for m in messages] == [["go", "still there?"]]


def test_a_failed_tool_always_has_words() -> None:
    result = messages_of(Message.tool_result("toolu_1", "", is_error=True))[0]["content"][0]
    assert result["is_error"]
    assert result["content"]


def test_an_empty_result_is_just_that() -> None:
    result = messages_of(Message.tool_result("toolu_1", ""))[0]["content"][0]
    assert result == {"type": "tool_result", "tool_use_id": "toolu_1"}


def test_a_malformed_call_goes_back_with_an_empty_input() -> None:
    malformed = ToolCall("toolu_1", "add", malformed='{"a": ')
    messages = messages_of(
        Message.assistant([malformed]), Message.tool_result("toolu_1", "bad", is_error=True)
    )
    assert messages[0]["content"][0]["input"] == {}


@pytest.mark.parametrize("messages", [[], [Message.user("")], [Message.assistant(" \n")]])
def test_a_conversation_without_a_word_is_refused(messages: list[Message]) -> None:
    with pytest.raises(InvalidInputError, match="nothing to send") as caught:
        body_of(Request(messages))
    assert caught.value.field == "messages"


def test_half_a_character_does_not_spoil_the_conversation() -> None:
    messages = messages_of(
        Message.user("a\ud83d"), Message.assistant([ToolCall("t", "add", {"x": ["\udc00"]})])
    )
    assert messages[0]["content"][0]["text"] == "a\ufffd"
    assert messages[1]["content"][0]["input"] == {"x": ["\ufffd"]}


def test_a_tool_without_a_schema_that_can_be_sent_is_named() -> None:
    with pytest.raises(InvalidToolError, match="'add'") as caught:
        body_of(Request([Message.user("hi")], (Add({"properties": object()}),)))
    assert caught.value.tool_name == "add"


class TestStructuredOutput:
    schema: ClassVar = {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 9}},
        "required": ["city"],
    }

    def test_a_schema_is_sent_in_the_dialect_of_the_api(self) -> None:
        body = body_of(Request([Message.user("hi")], output=OutputSchema("report", self.schema)))
        assert body["output_config"] == {
            "format": {
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "properties": {"city": {"type": "string", "description": "(maxLength: 9)"}},
                    "additionalProperties": False,
                    "required": ["city"],
                },
            }
        }

    @pytest.mark.parametrize(
        "config", [RequestConfig(extra={"output_config": {"effort": "low"}}), RequestConfig(effort="low")]
    )
    def test_it_goes_with_other_settings_of_the_output(self, config: RequestConfig) -> None:
        output = OutputSchema("report", self.schema)
        body = body_of(Request([Message.user("hi")], config=config, output=output))
        assert body["output_config"]["effort"] == "low"
        assert "format" in body["output_config"]

    def test_a_schema_beyond_the_dialect_is_asked_for_in_words(self) -> None:
        anything = {"type": "object", "additionalProperties": {"type": "integer"}}
        request = Request([Message.user("hi")], system="Be brief.", output=OutputSchema("counts", anything))
        body = body_of(request)
        assert "output_config" not in body
        assert body["system"].startswith("Be brief.\n\n")
        assert json.dumps(anything, separators=(",", ":")) in body["system"]


HI = [Message.user("hi")]
PNG, PDF = png(), pdf()


class TestSettings:
    @pytest.mark.parametrize(
        ("config", "fields"),
        [
            (RequestConfig(effort="max"), {"output_config": {"effort": "max"}}),
            (RequestConfig(thinking="adaptive"), {"thinking": {"type": "adaptive"}}),
            (RequestConfig(thinking="between_tools"), {"thinking": {"type": "between_tools"}}),
            (RequestConfig(thinking="off"), {"thinking": {"type": "disabled"}}),
            (
                RequestConfig(thinking=4000),
                {"thinking": {"type": "enabled", "budget_tokens": 4000}},
            ),
            (
                RequestConfig(thinking=20_000),
                {
                    "max_tokens": DEFAULT_MAX_TOKENS + 20_000,
                    "thinking": {"type": "enabled", "budget_tokens": 20_000},
                },
            ),
            (RequestConfig(stop_sequences=("END",)), {"stop_sequences": ["END"]}),
            (RequestConfig(top_p=0.5), {"top_p": 0.5}),
            (RequestConfig(top_p=0.5, thinking="off"), {"top_p": 0.5, "thinking": {"type": "disabled"}}),
            (
                RequestConfig(temperature=1, top_p=0.95, thinking="adaptive"),
                {"temperature": 1, "top_p": 0.95, "thinking": {"type": "adaptive"}},
            ),
            (RequestConfig(tool_choice="auto"), {"tool_choice": {"type": "auto"}}),
            (RequestConfig(tool_choice="none"), {"tool_choice": {"type": "none"}}),
            (RequestConfig(tool_choice="required"), {"tool_choice": {"type": "any"}}),
            (RequestConfig(tool_choice="add"), {"tool_choice": {"type": "tool", "name": "add"}}),
            (RequestConfig(extra={"metadata": {"user_id": "u"}}), {"metadata": {"user_id": "u"}}),
        ],
    )
    def test_each_is_in_the_words_of_the_api(self, config: RequestConfig, fields: dict[str, Any]) -> None:
        plain = body_of(Request(HI, (Add(),)))
        assert body_of(Request(HI, (Add(),), config)) == plain | fields

    def test_a_choice_among_no_tools_is_not_sent(self) -> None:
        assert body_of(Request(HI, config=RequestConfig(tool_choice="none"))) == body_of(Request(HI))

    @pytest.mark.parametrize(
        ("config", "field"),
        [
            (RequestConfig(max_tokens=100, thinking=2000), "thinking"),
            (RequestConfig(thinking=1023), "thinking"),
            (RequestConfig(thinking=2000, temperature=0.5), "temperature"),
            (RequestConfig(thinking="adaptive", temperature=0), "temperature"),
            (RequestConfig(thinking=2000, top_p=0.9), "top_p"),
            (RequestConfig(tool_choice="required", thinking="adaptive"), "tool_choice"),
            (RequestConfig(tool_choice="add", thinking=2000, max_tokens=9000), "tool_choice"),
            (RequestConfig(server_tools=("web_serch",)), "server_tools"),
            (RequestConfig(extra={"max_tokens": 7}), "extra"),
            (RequestConfig(extra={"messages": []}), "extra"),
            (RequestConfig(extra={"stream": False}), "extra"),
            (RequestConfig(effort="low", extra={"output_config": {"effort": "high"}}), "extra"),
            (RequestConfig(thinking="off", extra={"thinking": {"type": "adaptive"}}), "extra"),
        ],
    )
    def test_what_cannot_go_together_is_an_error_that_names_it(
        self, config: RequestConfig, field: str
    ) -> None:
        with pytest.raises(InvalidInputError, match=f"^{field}: ") as caught:
            body_of(Request(HI, (Add(),), config))
        assert caught.value.field == field

    def test_extra_fields_of_the_same_object_are_put_together(self) -> None:
        extra = {"output_config": {"task_budget": {"type": "tokens", "total": 9000}}}
        output = body_of(Request(HI, config=RequestConfig(effort="low", extra=extra)))["output_config"]
        assert output == {"effort": "low", **extra["output_config"]}

    def test_server_tools_stand_beside_ones_own_and_take_the_place_of_one_with_their_name(self) -> None:
        class Memory(Add):
            name = "memory"

        mine = {"type": "web_fetch_20260318", "name": "web_fetch", "max_uses": 3}
        config = RequestConfig(server_tools=("web_search", "memory", mine))
        tools = body_of(Request(HI, (Add(), Memory()), config))["tools"]
        assert [tool["name"] for tool in tools] == ["add", "web_search", "memory", "web_fetch"]
        assert [tool.get("type") for tool in tools] == [
            None,
            "web_search_20260318",
            "memory_20250818",
            "web_fetch_20260318",
        ]
        assert tools[-1] == mine
        assert body_of(Request(HI, config=config))["tools"] == tools[1:]

    @pytest.mark.parametrize(
        ("cache", "control"),
        [("5m", MARKER), ("1h", {"type": "ephemeral", "ttl": "1h"}), ("off", None), (None, MARKER)],
    )
    def test_a_cache_lifetime_is_in_every_marker(self, cache: Any, control: dict[str, str] | None) -> None:
        request = Request([*HI, *turn(1)], (Add(),), RequestConfig(cache=cache), system="Be brief.")
        found = json.dumps(body_of(request, RequestEncoder())).count(
            f'"cache_control": {json.dumps(control)}'
        )
        assert found == (0 if control is None else 3)

    def test_requests_with_different_settings_do_not_share_their_head(self) -> None:
        encoder, tools = RequestEncoder(), (Add(),)
        configs = [
            RequestConfig(),
            RequestConfig(effort="low"),
            RequestConfig(server_tools=("memory",)),
            RequestConfig(server_tools=({"type": "bash_20250124", "name": "bash"},)),
            RequestConfig(extra={"service_tier": "auto"}),
            RequestConfig(cache="1h"),
        ]
        bodies = {json.dumps(body_of(Request(HI, tools, config), encoder)) for config in configs}
        bodies.add(json.dumps(body_of(Request(HI, tools, compact=True), encoder)))
        assert len(bodies) == len(configs) + 1


class TestHeaders:
    def test_a_plain_request_needs_none(self) -> None:
        assert request_headers(Request(HI), "context-1m-2025-08-07") == {}

    @pytest.mark.parametrize("config", [RequestConfig(temperature=0.5), RequestConfig(top_p=0.5)])
    def test_sampling_asks_for_the_version_that_has_it(self, config: RequestConfig) -> None:
        assert request_headers(Request(HI, config=config)) == {"anthropic-version": "2023-06-01"}

    def test_beta_features_of_all_places_are_asked_for_once(self) -> None:
        config = RequestConfig(extra={"betas": ["a-2026-01-01", "b-2026-01-01"]})
        request = Request(HI, config=config, compact=True)
        assert request_headers(request, "c-2026-01-01,a-2026-01-01") == {
            "anthropic-beta": "c-2026-01-01,a-2026-01-01,b-2026-01-01,compact-2026-09-04"
        }
        assert "betas" not in body_of(request)


class TestCompaction:
    def test_it_is_asked_for_without_what_the_api_refuses_with_it(self) -> None:
        config = RequestConfig(
            max_tokens=100,
            effort="low",
            stop_sequences=("END",),
            tool_choice="required",
            extra={"context_management": {"edits": []}},
        )
        output = OutputSchema("report", {"type": "object", "properties": {"a": {"type": "string"}}})
        request = Request(HI, (Add(),), config, system="Be brief.", output=output, compact=True)
        body = body_of(request)
        plain = body_of(Request(HI, (Add(),), system="Be brief."))
        assert body == plain | {
            "max_tokens": 4096,  # of which thinking takes a part
            "output_config": {"effort": "low"},
            "compaction": {"type": "summarize"},
        }

    def test_its_block_is_sent_first_as_it_came_with_the_header_that_it_needs(self) -> None:
        block = {"type": "compaction", "content": "They asked.", "signature": "c2ln"}
        request = Request([Message.assistant([Opaque("claude", block)]), *HI])
        assert body_of(request)["messages"][0] == {"role": "assistant", "content": [block]}
        assert request_headers(request) == {"anthropic-beta": "compact-2026-09-04"}

    @pytest.mark.parametrize(
        ("model", "can"),
        [
            ("claude-opus-5-5", True),
            ("claude-sonnet-5-5", True),
            ("claude-fable-5-2", True),
            ("claude-sonnet-4-6", True),
            ("claude-haiku-5-5", False),
            ("claude-sonnet-4-5-20250929", False),
            ("claude-opus-5-50", False),
            ("my-own", False),
        ],
    )
    def test_the_models_that_can_are_known(self, model: str, can: bool) -> None:
        assert connect(model, api_key="k").model_info(f"claude:{model}").native_compaction is can


class TestBlocks:
    def test_all_that_the_api_sent_goes_back_as_it_came(self) -> None:
        message = read_message(
            json.dumps({"content": [*READ, *KEPT], "stop_reason": "pause_turn"}).encode(),
            Exchange("Claude", "its API", "", {}, PriceTable()),
        ).message
        (sent,) = messages_of(Message.user("hi"), message)[1:]
        plain = [block for block in READ if not block.get("citations") and block.get("type") != "tool_use"]
        for block in (READ[4], READ[6], *KEPT):
            assert block in sent["content"]
        assert [block["type"] for block in sent["content"]] == [block["type"] for block in (*READ, *KEPT)]
        for block in plain:
            assert {name: value for name, value in block.items() if value is not None} in sent["content"]

    def test_a_block_that_is_not_interpreted_is_never_marked(self) -> None:
        upload = Opaque("claude", {"type": "container_upload", "file_id": "file_1"})
        history = [Message.user("go"), *turn(1), Message.user(["Look at this.", upload])]
        body = body_of(Request(history, (Add(),)), RequestEncoder())
        assert body["messages"][-1]["content"][-1] == upload.data
        assert "cache_control" in body["messages"][0]["content"][-1]

    def test_what_another_provider_said_is_left_out_and_that_is_logged_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        item = Opaque("openai", {"type": "web_search_call", "id": "ws_1"})
        thought = Thought("", block=Opaque("openai", {"type": "reasoning", "encrypted_content": "x"}))
        text = Text("Sunny.", Opaque("openai", {"type": "message", "content": []}))
        call = ToolCall("call_1", "add", {"a": 1}, block=Opaque("openai", {"type": "function_call"}))
        messages = messages_of(Message.user("go"), Message.assistant([thought, item, text, call]))
        assert messages[1]["content"] == [
            {"type": "text", "text": "Sunny."},
            {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 1}},
        ]
        assert caplog.text.count("is left out") == 1

    def test_the_container_of_the_newest_answer_that_has_one_is_named(self) -> None:
        first, second = (
            Message.assistant([Opaque("claude", {"type": "container", "id": name}), Text("Done.")])
            for name in ("container_1", "container_2")
        )
        body = body_of(Request([*HI, first, *HI, second, *HI]))
        assert body["container"] == "container_2"
        assert body["messages"][1]["content"] == [{"type": "text", "text": "Done."}]


class TestMedia:
    image = Image.from_bytes(PNG, name="shelf.png")
    base64 = b64encode(PNG).decode()

    @pytest.mark.parametrize(
        ("part", "block"),
        [
            (
                image,
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": base64},
                },
            ),
            (
                Image.from_url("https://a.example/b.png"),
                {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}},
            ),
            (
                Image.from_file_id("file_1"),
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            ),
            (
                Document.from_bytes(PDF, name="list.pdf"),
                {
                    "type": "document",
                    "source": {
                        "type": "base64",
                        "media_type": "application/pdf",
                        "data": b64encode(PDF).decode(),
                    },
                    "title": "list.pdf",
                },
            ),
            (
                Document.from_bytes("Äpfel".encode()),
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "Äpfel"},
                },
            ),
            (
                Document.from_url("https://a.example/b.pdf"),
                {"type": "document", "source": {"type": "url", "url": "https://a.example/b.pdf"}},
            ),
            (
                Document.from_file_id("file_2", name="b.pdf"),
                {
                    "type": "document",
                    "source": {"type": "file", "file_id": "file_2"},
                    "title": "b.pdf",
                },
            ),
        ],
    )
    def test_each_kind_has_its_block_in_messages_and_in_results(
        self, part: Image | Document, block: dict[str, Any]
    ) -> None:
        question, _, answer = messages_of(
            Message.user(["What is this?", part]),
            Message.assistant([call(1)]),
            Message.tool_result("toolu_1", ["Here.", part]),
        )
        assert question["content"] == [{"type": "text", "text": "What is this?"}, block]
        (result,) = answer["content"]
        assert result["content"] == [{"type": "text", "text": "Here."}, block]

    def test_a_result_with_media_can_be_marked(self) -> None:
        history = [
            Message.user("go"),
            Message.assistant([call(1)]),
            Message.tool_result("toolu_1", [self.image]),
        ]
        (result,) = body_of(Request(history, (Add(),)), RequestEncoder())["messages"][-1]["content"]
        assert result["cache_control"] == MARKER
        assert "cache_control" not in result["content"][0]

    def test_what_a_failed_tool_returned_is_text(self) -> None:
        messages = messages_of(
            Message.user("go"),
            Message.assistant([call(1)]),
            Message.tool_result("toolu_1", ["No light.", self.image], is_error=True),
        )
        assert messages[-1]["content"][0]["content"] == "No light.\n[image: shelf.png]"

    def test_too_much_is_an_error_before_anything_is_sent(self) -> None:
        large = Image(media_type="image/png", blob=Blob(None, "0" * 64, 11 * 2**20))
        with pytest.raises(InvalidInputError, match="larger than Claude takes"):
            messages_of(Message.user([large]))


class TestPromptCaching:
    encoder = RequestEncoder()

    def marked(self, request: Request) -> list[str]:
        """Where the markers are."""
        body = body_of(request, self.encoder)
        found = [f"tool {tool['name']}" for tool in body.get("tools", ()) if "cache_control" in tool]
        system = body.get("system", ())
        found += ["system" for block in system if isinstance(block, dict) and "cache_control" in block]
        for index, message in enumerate(body["messages"]):
            for position, block in enumerate(message["content"]):
                if "cache_control" in block:
                    assert block["cache_control"] == MARKER
                    assert position == len(message["content"]) - 1
                    found.append(f"{message['role']} {index}")
        return found

    def test_a_single_question_is_not_cached(self) -> None:
        assert self.marked(Request([Message.user("hi")], system="Long instructions.")) == []

    def test_instructions_and_the_newest_message_are_marked_when_there_are_tools(self) -> None:
        request = Request([Message.user("hi")], (Add(),), system="Be brief.")
        assert self.marked(request) == ["system", "user 0"]

    def test_the_last_tool_is_marked_when_there_are_no_instructions(self) -> None:
        assert self.marked(Request([Message.user("hi")], (Add(), Add()))) == ["tool add", "user 0"]

    def test_the_message_that_was_newest_a_turn_ago_is_marked_too(self) -> None:
        messages = [Message.user("go"), *turn(1), *turn(2, calls=12), *turn(3)]
        assert self.marked(Request(messages, (Add(),))) == ["tool add", "user 4", "user 6"]

    def test_only_the_users_messages_are_marked(self) -> None:
        messages = [
            Message.user("go"),
            Message.assistant("Well"),
            Message.user("Yes?"),
            Message.assistant("I"),
        ]
        assert self.marked(Request(messages)) == ["user 0", "user 2"]

    def test_there_are_never_more_markers_than_the_api_takes(self) -> None:
        history = [Message.user("go")]
        for number in range(100):
            history += turn(number)
            assert len(self.marked(Request(tuple(history), (Add(),), system="Be brief."))) == 3

    def test_it_can_be_turned_off(self) -> None:
        request = Request([Message.user("go"), *turn(1)], (Add(),), system="Be brief.")
        assert "cache_control" not in json.dumps(body_of(request))


class TestEncodingOnce:
    @pytest.fixture
    def encoded(self, monkeypatch: pytest.MonkeyPatch) -> list[object]:
        """Everything that was turned into JSON."""
        seen: list[object] = []
        encode = wire_json.encode

        def spy(value: object) -> bytes:
            seen.append(value)
            return encode(value)

        monkeypatch.setattr(claude_messages, "encode", spy)
        return seen

    def test_a_message_is_encoded_in_the_turn_it_is_new_and_never_again(self, encoded: list[object]) -> None:
        encoder, tools = RequestEncoder(), (Add(),)
        history = History([Message.user("go")])
        counts = []
        for number in range(50):
            before = len(encoded)
            body_of(Request(history, tools, system="Be brief."), encoder)
            counts.append(len(encoded) - before)
            history = history.extended(*turn(number))
        assert counts == [1, *[2] * 49]

    def test_tools_are_encoded_once_for_a_tuple(self) -> None:
        tool = Add()
        encoder, tools = RequestEncoder(), (tool,)
        for question in ("x", "y"):
            body_of(Request([Message.user(question)], tools, system="Be brief."), encoder)
        assert tool.looked_at == 1

    def test_a_list_of_tools_may_change_between_requests(self) -> None:
        encoder = RequestEncoder()
        tools: list[Tool] = [Add()]
        assert len(body_of(Request([Message.user("x")], tools), encoder)["tools"]) == 1
        tools.append(Add())
        assert len(body_of(Request([Message.user("x")], tools), encoder)["tools"]) == 2

    def test_what_is_remembered_is_bounded_and_right(self) -> None:
        encoder = RequestEncoder()
        for number in range(1000):
            tools = tuple(Add({"title": str(number)}) for _ in range(1))
            body = body_of(Request([Message.user("x")], tools), encoder)
            assert body["tools"][0]["input_schema"]["title"] == str(number)
        assert len(encoder._heads._heads) <= HeadCache.CAPACITY

    def test_requests_with_different_settings_do_not_share_their_head(self) -> None:
        encoder, messages = RequestEncoder(), [Message.user("x")]
        assert "stream" in body_of(Request(messages), encoder, stream=True)
        assert "stream" not in body_of(Request(messages), encoder)
        assert body_of(Request(messages, config=RequestConfig(max_tokens=5)), encoder)["max_tokens"] == 5
        assert body_of(Request(messages, system="s"), encoder)["system"] == "s"

    def test_an_older_view_of_a_history_is_sent_as_it_was(self) -> None:
        encoder = RequestEncoder()
        old = History([Message.user("go"), *turn(1)])
        before = body_of(Request(old), encoder)
        new = old.extended(*turn(2))
        assert len(body_of(Request(new), encoder)["messages"]) == 5
        assert body_of(Request(old), encoder) == before

    def test_a_fork_is_sent_as_itself(self) -> None:
        encoder = RequestEncoder()
        trunk = History([Message.user("go"), *turn(1)])
        left = trunk.extended(*turn(2))
        body_of(Request(left), encoder)
        right = trunk.extended(Message.user("Something else."))
        assert body_of(Request(right), encoder) == body_of(Request(tuple(right)), encoder)
        assert body_of(Request(left), encoder) == body_of(Request(tuple(left)), encoder)

    def test_a_message_that_cannot_be_encoded_is_not_skipped_the_next_time(self) -> None:
        encoder = RequestEncoder()
        broken = Message.assistant([ToolCall("t", "add", {"a": object()})])
        history = History([Message.user("go"), broken, Message.user("on")])
        for _ in range(2):
            with pytest.raises(InvalidInputError, match="cannot be sent as JSON"):
                body_of(Request(history), encoder)


parts = st.one_of(
    st.builds(Text, st.text(max_size=5)),
    st.builds(Thought, st.text(max_size=5), st.sampled_from(["", "sig"]), st.sampled_from(["", "data"])),
    st.builds(ToolCall, st.text(max_size=3), st.just("add"), st.just({"a": 1})),
)
any_message = st.one_of(
    st.builds(Message, st.sampled_from([Role.USER, Role.ASSISTANT]), st.lists(parts, max_size=3)),
    st.builds(
        lambda call_id, text, failed: Message.tool_result(call_id, text, is_error=failed),
        st.text(max_size=3),
        st.text(max_size=5),
        st.booleans(),
    ),
)


@pytest.mark.requirement("002-R5")
@given(st.lists(st.lists(any_message, max_size=4), min_size=1, max_size=30), st.booleans())
def test_a_history_that_grew_is_sent_as_one_that_was_always_whole(
    steps: Sequence[Sequence[Message]], cached: bool
) -> None:
    encoder, config = RequestEncoder(), RequestConfig(cache=None if cached else "off")
    history = History([Message.user("go")])
    for step in steps:
        history = history.extended(*step)
        grown = body_of(Request(history, config=config), encoder)
        assert grown == body_of(Request(tuple(history), config=config), encoder)
        roles = [message["role"] for message in grown["messages"]]
        assert all(before != after for before, after in pairwise(roles))
        for message in grown["messages"]:
            kinds = [block["type"] == "tool_result" for block in message["content"]]
            assert kinds == sorted(kinds, reverse=True)
            assert kinds
