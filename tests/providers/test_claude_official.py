"""What the official SDK thinks of our requests, and of the server that the other tests use."""

from __future__ import annotations

import json
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
from pydantic import BaseModel, TypeAdapter

from maverick.model import (
    History,
    Message,
    Opaque,
    OutputSchema,
    Part,
    Request,
    Response,
    StopReason,
    Text,
    Thought,
    ToolCall,
)
from maverick.providers.claude.client import connect
from maverick.providers.claude.request import RequestEncoder
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
    encoder = RequestEncoder(cache_prompts=caching)
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
    async with official, connect(MODEL, base_url=server.at("server_tools"), api_key="k") as ours:
        whole = await official.beta.messages.create(max_tokens=100, **QUESTION)
        async with official.beta.messages.stream(max_tokens=100, **QUESTION) as stream:
            streamed = await stream.get_final_message()
        request = Request([Message.user("hi")])
        our_whole = await ours.run(request)
        *_, our_stream = [item async for item in ours.stream(request)]
    assert isinstance(our_stream, Response)
    for theirs, mine in ((whole, our_whole), (streamed, our_stream)):
        assert [_as_part(block.to_dict(use_api_names=True)) for block in theirs.content] == list(mine.parts)


def _as_part(block: dict[str, Any]) -> Part:
    own_form = Opaque("claude", block)
    match block["type"]:
        case "text":
            return Text(block["text"], own_form if block.get("citations") else None)
        case "thinking":
            return Thought(block["thinking"], block["signature"])
        case "redacted_thinking":
            return Thought("", redacted=block["data"])
        case "tool_use":
            is_direct = block.get("caller", {}).get("type") == "direct"
            return ToolCall(block["id"], block["name"], block["input"], block=None if is_direct else own_form)
    return own_form
