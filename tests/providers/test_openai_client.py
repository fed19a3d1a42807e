"""The ``openai:`` client against a real server: what it makes of answers, and how it treats its connections."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import openai
import pytest
import trustme

from canary import CANARY
from maverick.model import (
    Response,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from maverick.providers.http.aiohttp_transport import AiohttpTransport
from maverick.providers.openai.client import OpenAIClient, connect
from wire.asking import HI, answered, both_ways, collected
from wire.openai_answers import REQUEST_ID
from wire.openai_server import HELLO, OpenAIServer

KEY = CANARY
ENVIRONMENT = ("MAVERICK_AGENT_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with OpenAIServer() as server:
        yield server


def client_of(server: OpenAIServer, scenario: str = "text", **options: Any) -> OpenAIClient:
    return connect("test-model", base_url=server.at(scenario), api_key=KEY, **options)


@dataclass(frozen=True)
class TLSServer:
    """A server with a certificate of its own authority, and what it takes to trust it."""

    server: OpenAIServer
    trust: ssl.SSLContext


@pytest.fixture
async def tls_server() -> AsyncIterator[TLSServer]:
    authority = trustme.CA()
    certificate = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(certificate)
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    async with OpenAIServer(tls=certificate) as server:
        yield TLSServer(server, trust)


@both_ways
async def test_an_answer_comes_with_its_usage_and_origin(server: OpenAIServer, stream: bool) -> None:
    response = await answered(client_of(server), stream=stream)

    assert response.content == HELLO
    assert response.stop_reason is StopReason.COMPLETE
    assert response.usage == Usage(118, 42, 11, 7)
    assert (response.model, response.request_id) == ("test-model", REQUEST_ID)


async def test_words_arrive_as_they_are_said_and_the_whole_answer_last(server: OpenAIServer) -> None:
    *deltas, response = await collected(client_of(server))

    assert [type(delta) for delta in deltas] == [TextDelta] * 3
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == HELLO
    assert isinstance(response, Response)


@pytest.mark.parametrize("scenario", ["thinking", "thinking_as_reasoning"])
async def test_thoughts_arrive_before_words(server: OpenAIServer, scenario: str) -> None:
    *deltas, response = await collected(client_of(server, scenario))

    thought = "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta))
    assert thought == "The sum of two numbers."
    assert isinstance(response, Response)
    assert response.message.thinking == thought
    assert response.content == "Five."


@both_ways
@pytest.mark.parametrize(
    "scenario", ["parallel_tools", "parallel_tools_all_first", "parallel_tools_without_index"]
)
async def test_several_tools_are_asked_for_at_once(server: OpenAIServer, scenario: str, stream: bool) -> None:
    response = await answered(client_of(server, scenario), stream=stream)

    assert response.stop_reason is StopReason.TOOL_USE
    assert response.tool_calls == (
        ToolCall("call_1", "add", {"a": 1, "b": 2}),
        ToolCall("call_2", "add", {"a": 3, "b": 4}),
        ToolCall("call_3", "now", {}),
    )


async def test_one_connection_serves_turn_after_turn(server: OpenAIServer) -> None:
    async with client_of(server) as client:
        for _ in range(3):
            await client.run(HI)

    assert len(server.connections) == 1


async def test_streams_share_a_connection_where_one_is_dear(tls_server: TLSServer) -> None:
    async with client_of(tls_server.server, tls=tls_server.trust) as client:
        for _ in range(3):
            assert [item async for item in client.stream(HI)]

    assert len(tls_server.server.connections) == 1


async def test_a_near_server_may_close_its_connection_after_a_stream(server: OpenAIServer) -> None:
    async with client_of(server) as client:
        for _ in range(3):
            assert [item async for item in client.stream(HI)]

    assert len(server.connections) == 3
    assert {received.headers["connection"] for received in server.received} == {"close"}


@both_ways
@pytest.mark.parametrize(
    ("scenario", "stop_reason"),
    [
        ("refusal", StopReason.REFUSAL),
        ("filtered", StopReason.REFUSAL),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("tool_but_stop", StopReason.TOOL_USE),
        ("function_call", StopReason.TOOL_USE),
        ("empty", StopReason.COMPLETE),
    ],
)
async def test_an_answer_has_its_stop_reason(
    server: OpenAIServer, scenario: str, stop_reason: StopReason, stream: bool
) -> None:
    response = await answered(client_of(server, scenario), stream=stream)

    assert response.stop_reason is stop_reason


@both_ways
@pytest.mark.parametrize("scenario", ["one_byte_at_a_time", "carriage_returns", "no_done"])
async def test_an_answer_is_read_however_it_comes(server: OpenAIServer, scenario: str, stream: bool) -> None:
    assert (await answered(client_of(server, scenario), stream=stream)).content == HELLO


@pytest.mark.requirement("P8", "002-R6")
async def test_an_end_of_the_body_that_never_comes_does_not_hold_up_the_answer(server: OpenAIServer) -> None:
    async with asyncio.timeout(30):
        assert (await answered(client_of(server, "never_ends"), stream=True)).content == HELLO


async def test_a_transport_may_be_shared_and_outlives_the_clients(server: OpenAIServer) -> None:
    transport = AiohttpTransport()
    try:
        await answered(client_of(server, transport=transport))
        await answered(client_of(server, "tool", transport=transport))
    finally:
        await transport.aclose()

    assert len(server.connections) == 1


@both_ways
async def test_openais_own_client_reads_the_test_server_as_we_do(server: OpenAIServer, stream: bool) -> None:
    ours = await answered(client_of(server, "tool"), stream=stream)
    request = server.received[0].body
    async with openai.AsyncOpenAI(base_url=server.at("tool"), api_key=KEY, max_retries=0) as theirs:
        answer: Any = await theirs.chat.completions.create(**request)
        if stream:
            said, arguments = "", ""
            async for chunk in answer:
                for choice in chunk.choices:
                    said += choice.delta.content or ""
                    for piece in choice.delta.tool_calls or ():
                        arguments += (piece.function and piece.function.arguments) or ""
        else:
            message = answer.choices[0].message
            said, arguments = message.content, message.tool_calls[0].function.arguments

    assert said == ours.content
    assert json.loads(arguments) == ours.tool_calls[0].arguments
    assert server.received[1].body == request


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("bad_request", openai.BadRequestError),
        ("wrong_key", openai.AuthenticationError),
        ("forbidden", openai.PermissionDeniedError),
        ("no_such_model", openai.NotFoundError),
        ("rate_limited", openai.RateLimitError),
        ("server_error", openai.InternalServerError),
    ],
)
async def test_openais_own_client_takes_a_refusal_of_the_test_server_for_what_it_is(
    server: OpenAIServer, fault: str, error: type[openai.APIStatusError]
) -> None:
    async with openai.AsyncOpenAI(base_url=server.at(fault), api_key=KEY, max_retries=0) as theirs:
        with pytest.raises(error) as caught:
            await theirs.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])

    assert caught.value.request_id == REQUEST_ID
    assert caught.value.message
