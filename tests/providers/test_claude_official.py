"""What the official SDK thinks of our requests, and of the server that the other tests use."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from typing import Any, get_args

import anthropic
import pytest
from anthropic.types import RawMessageStreamEvent
from anthropic.types.beta import BetaContentBlock
from anthropic.types.message_create_params import (
    MessageCreateParamsNonStreaming,
    MessageCreateParamsStreaming,
)
from msgspec.structs import replace
from pydantic import BaseModel, TypeAdapter

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
    Response,
    StopReason,
    Text,
    Thought,
    ToolCall,
)
from maverick.providers.claude.client import connect
from maverick.providers.claude.request import DEFAULT_MAX_TOKENS, RequestEncoder
from maverick.providers.claude.sdk import connect as connect_sdk
from media_files import pdf, png
from wire.claude_answers import REQUEST_ID
from wire.claude_blocks import KEPT, READ
from wire.claude_server import ANSWERS, ClaudeServer

pytestmark = pytest.mark.requirement("002-R5", "002-AC9")

MODEL = "claude-sonnet-5-5"


class Place(BaseModel):
    name: str
    inhabitants: int | None = None


class Find:
    name = "find"
    description = "Find a place."
    parameters = Place.model_json_schema()

    async def execute(self, args: dict[str, Any], /) -> str:
        raise AssertionError("not run here")


def requests() -> Iterator[Any]:
    """Requests with everything in them that there is."""
    conversation = [
        Message.user("Where?"),
        Message.assistant(
            [
                Thought("Hm.", "c2ln"),
                Thought("", redacted="ZGF0YQ=="),
                Text("Let me see."),
                ToolCall("toolu_1", "find", {"name": "Brest"}),
                ToolCall("toolu_2", "find", malformed='{"name": '),
            ]
        ),
        Message.tool_result("toolu_1", "found"),
        Message.tool_result("toolu_2", "", is_error=True),
        Message.user("Go on."),
    ]
    tools = (Find(), Find())
    output = OutputSchema("place", Place.model_json_schema())
    yield pytest.param(Request(conversation[:1]), id="one question")
    yield pytest.param(Request(conversation, tools), id="tools")
    yield pytest.param(Request(History(conversation), tools, system="Be brief."), id="tools and instructions")
    yield pytest.param(Request(conversation[:1], system="Be brief.", output=output), id="structured output")


def plain(value: Any) -> Any:
    """A validated value as lists and dictionaries; pydantic leaves iterables to be walked."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value if isinstance(value, str | int | float | None) else [plain(item) for item in value]


@pytest.mark.parametrize("caching", [False, True], ids=["plain", "cached"])
@pytest.mark.parametrize("request_", list(requests()))
def test_our_requests_are_what_the_sdk_declares_and_nothing_else(request_: Request, caching: bool) -> None:
    encoder = RequestEncoder()
    request_ = replace(request_, config=RequestConfig(cache=None if caching else "off"))
    whole = encoder.encode(request_, model=MODEL, stream=False)
    streamed = encoder.encode(request_, model=MODEL, stream=True)
    for raw, declared in (
        (whole, MessageCreateParamsNonStreaming),
        (streamed, MessageCreateParamsStreaming),
    ):
        body = json.loads(b"".join(raw))
        assert plain(TypeAdapter[Any](declared).validate_python(body)) == body


@pytest.fixture
async def server() -> AsyncIterator[ClaudeServer]:
    async with ClaudeServer() as server:
        yield server


QUESTION: dict[str, Any] = {
    "model": MODEL,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
}
SHARED = sorted(
    ANSWERS.keys()
    - {"structured", "new_kinds", "server_tools", "tool_arguments_malformed", "half_a_character"}
)


@pytest.mark.parametrize("scenario", SHARED)
def test_the_sdk_declares_what_our_server_sends(scenario: str) -> None:
    answer = ANSWERS[scenario](QUESTION)
    anthropic.types.Message.model_validate(answer.message(MODEL), strict=True)
    events = TypeAdapter[Any](RawMessageStreamEvent)
    for event in answer.events(MODEL):
        if event["type"] != "ping":  # the SDK drops pings before it looks at them
            events.validate_python(event)


@pytest.mark.parametrize("scenario", ["text", "thinking", "parallel_tools", "refusal", "max_tokens"])
async def test_the_sdk_reads_the_same_answer_from_the_same_server(
    server: ClaudeServer, scenario: str
) -> None:
    official = anthropic.AsyncAnthropic(base_url=server.at(scenario), api_key="k", max_retries=0)
    async with official, connect(MODEL, base_url=server.at(scenario), api_key="k") as ours:
        their_whole = await official.messages.create(max_tokens=100, **QUESTION)
        async with official.messages.stream(max_tokens=100, **QUESTION) as stream:
            their_stream = await stream.get_final_message()
        request = Request([Message.user("hi")])
        our_whole = await ours.run(request)
        *_, our_stream = [item async for item in ours.stream(request)]
    assert isinstance(our_stream, Response)
    for theirs, mine in ((their_whole, our_whole), (their_stream, our_stream)):
        assert [_as_part(block.to_dict()) for block in theirs.content] == list(mine.parts)
        assert theirs.usage.output_tokens == mine.usage.output_tokens
        assert theirs.model == mine.model
        if scenario in {"refusal", "max_tokens"}:
            assert theirs.stop_reason == mine.stop_reason.value
        else:
            assert mine.stop_reason in {StopReason.COMPLETE, StopReason.TOOL_USE}


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("bad_request", anthropic.BadRequestError),
        ("wrong_key", anthropic.AuthenticationError),
        ("forbidden", anthropic.PermissionDeniedError),
        ("no_such_model", anthropic.NotFoundError),
        ("rate_limited", anthropic.RateLimitError),
        ("server_error", anthropic.InternalServerError),
        ("overloaded", anthropic.OverloadedError),
    ],
)
async def test_the_sdk_takes_a_refusal_of_our_server_for_what_it_is(
    server: ClaudeServer, fault: str, error: type[anthropic.APIStatusError]
) -> None:
    async with anthropic.AsyncAnthropic(base_url=server.at(fault), api_key="k", max_retries=0) as official:
        with pytest.raises(error) as caught:
            await official.messages.create(max_tokens=100, **QUESTION)

    refusal = anthropic.types.ErrorResponse.model_validate(caught.value.body, strict=True)
    assert refusal.error.message
    assert caught.value.request_id == REQUEST_ID


FIND = {"name": "find", "description": "Find a place.", "input_schema": {"type": "object", **Find.parameters}}
MARKER = {"type": "ephemeral"}


def said(*blocks: str | dict[str, Any], role: str = "user") -> dict[str, Any]:
    """A message as the SDK takes it."""
    return {"role": role, "content": [_text(each) if isinstance(each, str) else each for each in blocks]}


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def features() -> Iterator[Any]:
    """Each feature as we ask for it, and as the SDK is called for the same."""

    def feature(name: str, request: Request, **arguments: Any) -> Any:
        return pytest.param(request, {"messages": [said("hi")], **arguments}, id=name)

    def setting(name: str, config: RequestConfig, **arguments: Any) -> Any:
        return feature(name, Request([Message.user("hi")], config=config), **arguments)

    yield setting("effort", RequestConfig(effort="high"), output_config={"effort": "high"})
    yield setting("adaptive", RequestConfig(thinking="adaptive"), thinking={"type": "adaptive"})
    yield setting("between", RequestConfig(thinking="between_tools"), thinking={"type": "between_tools"})
    yield setting("off", RequestConfig(thinking="off"), thinking={"type": "disabled"})
    yield setting("budget", RequestConfig(thinking=2048), thinking={"type": "enabled", "budget_tokens": 2048})
    yield setting("stop", RequestConfig(stop_sequences=("END",)), stop_sequences=["END"])
    yield setting(
        "server tools",
        RequestConfig(
            server_tools=("web_search", "web_fetch", "code_execution", "memory", "tool_search"), cache="off"
        ),
        tools=[
            {"type": "web_search_20260318", "name": "web_search", "allowed_callers": ["direct"]},
            {"type": "web_fetch_20260318", "name": "web_fetch", "allowed_callers": ["direct"]},
            {"type": "code_execution_20260521", "name": "code_execution"},
            {"type": "memory_20250818", "name": "memory"},
            {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        ],
    )
    yield setting(
        "extra and betas",
        RequestConfig(extra={"service_tier": "auto", "betas": ["context-1m-2025-08-07"]}),
        service_tier="auto",
        betas=["context-1m-2025-08-07"],
    )
    for choice, wire in (
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("find", {"type": "tool", "name": "find"}),
    ):
        config = RequestConfig(tool_choice=choice, cache="off")
        request = Request([Message.user("hi")], (Find(),), config)
        yield feature(f"choice {choice}", request, tools=[FIND], tool_choice=wire)
    hour = MARKER | {"ttl": "1h"}
    yield feature(
        "cached for an hour",
        Request([Message.user("hi")], (Find(),), RequestConfig(cache="1h"), system="Be brief."),
        tools=[FIND],
        system=[_text("Be brief.") | {"cache_control": hour}],
        messages=[said(_text("hi") | {"cache_control": hour})],
    )
    yield feature(
        "compaction",
        Request([Message.user("hi")], compact=True),
        compaction={"type": "summarize"},
        betas=["compact-2026-09-04"],
    )
    compacted = {"type": "compaction", "content": "They asked.", "signature": "c2ln"}
    yield feature(
        "behind a compaction",
        Request([Message.assistant([Opaque("claude", compacted)]), Message.user("hi")], config=NO_CACHE),
        messages=[said(compacted, role="assistant"), said("hi")],
        betas=["compact-2026-09-04"],
    )
    container = Opaque("claude", {"type": "container", "id": "container_1"})
    paused = [KEPT[0], KEPT[1], READ[4], KEPT[4]]
    parts: list[Part] = [
        *(Opaque("claude", block) for block in paused[:2]),
        Text(READ[4]["text"], Opaque("claude", READ[4])),
    ]
    yield feature(
        "a turn that goes on",
        Request(
            [Message.user("hi"), Message.assistant([container, *parts, Opaque("claude", KEPT[4])])],
            config=NO_CACHE,
        ),
        messages=[said("hi"), said(*paused, role="assistant")],
        container="container_1",
    )
    image, document = Image.from_bytes(png()), Document.from_bytes(pdf(), name="list.pdf")
    png_block = {"type": "image", "source": _base64("image/png", png())}
    pdf_block = {"type": "document", "source": _base64("application/pdf", pdf()), "title": "list.pdf"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}
    yield feature(
        "media",
        Request(
            [
                Message.user(["hi", image, document, Image.from_file_id("file_1")]),
                Message.assistant([ToolCall("toolu_1", "find")]),
                Message.tool_result("toolu_1", ["Here.", image, Document.from_url("https://a.example/b")]),
            ],
            config=NO_CACHE,
        ),
        messages=[
            said(
                "hi",
                png_block,
                pdf_block,
                {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
            ),
            said(call, role="assistant"),
            said(
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        _text("Here."),
                        png_block,
                        {"type": "document", "source": {"type": "url", "url": "https://a.example/b"}},
                    ],
                }
            ),
        ],
    )


NO_CACHE = RequestConfig(cache="off")


def _base64(media_type: str, data: bytes) -> dict[str, Any]:
    return {"type": "base64", "media_type": media_type, "data": b64encode(data).decode()}


@pytest.mark.parametrize(("request_", "arguments"), list(features()))
async def test_each_feature_is_asked_for_as_the_sdk_asks_for_it(
    server: ClaudeServer, request_: Request, arguments: dict[str, Any]
) -> None:
    address, model = server.at("text"), "claude-next"  # of a model that is not known, nothing is refused
    official = anthropic.AsyncAnthropic(base_url=address, api_key="k", max_retries=0)
    lean = connect(model, base_url=address, api_key="k")
    async with official, lean, connect_sdk(model, base_url=address, api_key="k") as ours_by_sdk:
        await official.beta.messages.create(model=model, max_tokens=DEFAULT_MAX_TOKENS, **arguments)
        await lean.run(request_)
        await ours_by_sdk.run(request_)
    theirs, *ours = server.received
    for mine in ours:
        assert mine.body == theirs.body
        for header in ("anthropic-beta", "anthropic-version"):
            assert mine.headers.get(header) == theirs.headers.get(header)


def test_there_is_a_fixture_for_each_type_of_block_and_it_is_what_the_sdk_declares() -> None:
    blocks = TypeAdapter[Any](BetaContentBlock)
    for block in (*READ, *KEPT):
        blocks.validate_python(block, strict=True)
    declared = get_args(get_args(BetaContentBlock)[0])
    assert {block["type"] for block in (*READ, *KEPT)} == {
        get_args(each.model_fields["type"].annotation)[0] for each in declared
    }


async def test_the_sdk_reads_the_same_blocks_of_every_type(server: ClaudeServer) -> None:
    official = anthropic.AsyncAnthropic(base_url=server.at("server_tools"), api_key="k", max_retries=0)
    by_sdk = connect_sdk(MODEL, base_url=server.at("server_tools"), api_key="k")
    async with official, by_sdk, connect(MODEL, base_url=server.at("server_tools"), api_key="k") as ours:
        whole = await official.beta.messages.create(max_tokens=100, **QUESTION)
        async with official.beta.messages.stream(max_tokens=100, **QUESTION) as stream:
            streamed = await stream.get_final_message()
        request = Request([Message.user("hi")])
        our_whole = await ours.run(request)
        our_items = [item async for item in ours.stream(request)]
        assert [item async for item in by_sdk.stream(request)] == our_items
        assert await by_sdk.run(request) == our_whole
    our_stream = our_items[-1]
    assert isinstance(our_stream, Response)
    for theirs, mine in ((whole, our_whole), (streamed, our_stream)):
        assert [_as_part(block.to_dict(use_api_names=True)) for block in theirs.content] == list(mine.parts)


def _as_part(block: dict[str, Any]) -> Part:
    own_form = Opaque("claude", block)
    match block["type"]:
        case "text":
            return Text(block["text"], own_form if block.get("citations") else None)
        case "thinking":
            return Thought(block["thinking"], block["signature"], model=MODEL)
        case "redacted_thinking":
            return Thought("", redacted=block["data"], model=MODEL)
        case "tool_use":
            is_direct = block.get("caller", {}).get("type") == "direct"
            return ToolCall(block["id"], block["name"], block["input"], block=None if is_direct else own_form)
    return own_form
