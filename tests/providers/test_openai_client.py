"""The ``openai:`` client against a real server: what it sends, what it makes of answers, and of everything else."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
import trustme

import maverick
from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ContextOverflowError,
    ErrorKind,
    InvalidInputError,
    MalformedResponseError,
    NetworkError,
    ProviderError,
    RateLimitError,
    ServerError,
    StreamingError,
    TimeoutError,
)
from maverick.model import (
    History,
    Message,
    OutputSchema,
    Price,
    Request,
    RequestConfig,
    Response,
    StopReason,
    StreamItem,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from maverick.providers.network import allow_network, forbid_network
from maverick.providers.openai_compatible import OpenAIClient, connect
from maverick.providers.transport import Timeouts, default_transport
from maverick.providers.wrapper import open_stream
from wire.openai_answers import REQUEST_ID
from wire.openai_server import HELLO, LOOP_TURNS, OpenAIServer

HI = Request([Message.user("hi")])
BRIEF = Timeouts(connect=5, first_byte=0.2, idle=0.2)
KEY = "sk-very-secret"
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


async def collected(client: OpenAIClient, request: Request = HI) -> list[StreamItem]:
    async with client, open_stream(client, request) as stream:
        return [item async for item in stream]


async def answered(client: OpenAIClient, request: Request = HI, *, stream: bool = False) -> Response:
    """The whole answer, asked for in either way."""
    if not stream:
        async with client:
            return await client.run(request)
    response = (await collected(client, request))[-1]
    assert isinstance(response, Response)
    return response


both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


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


@both_ways
async def test_a_loop_of_tools_runs_to_its_end(server: OpenAIServer, stream: bool) -> None:
    history = History([Message.user("Count.")])
    async with client_of(server, "loop") as client:
        for turn in range(LOOP_TURNS):
            if stream:
                items = [item async for item in client.stream(Request(history))]
                response = items[-1]
                assert isinstance(response, Response)
            else:
                response = await client.run(Request(history))
            history = history.extended(response.message, Message.tool_result(f"call_{turn}", str(turn + 1)))
        response = await client.run(Request(history))

    assert response.content == f"done after {LOOP_TURNS}"
    assert len(server.connections) == 1


@both_ways
async def test_an_answer_is_held_to_a_schema(server: OpenAIServer, stream: bool) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    request = Request([Message.user("hi")], output=OutputSchema("place", schema))

    response = await answered(client_of(server, "structured"), request, stream=stream)

    assert json.loads(response.content) == {"city": "made up"}
    assert server.received[0].body["response_format"]["json_schema"]["strict"] is True


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
async def test_why_an_answer_ended_is_told(
    server: OpenAIServer, scenario: str, stop_reason: StopReason, stream: bool
) -> None:
    response = await answered(client_of(server, scenario), stream=stream)

    assert response.stop_reason is stop_reason


@both_ways
@pytest.mark.requirement("P8")
@pytest.mark.parametrize(
    ("scenario", "malformed"),
    [
        ("tool_cut_off", '{"path": "a.txt", "content": "once upon'),
        ("tool_cut_before_arguments", "{}"),
        ("tool_arguments_malformed", '{"a": 1, "b": '),
        ("tool_arguments_a_list", "[1, 2]"),
    ],
)
async def test_a_call_that_is_not_whole_cannot_run(
    server: OpenAIServer, scenario: str, malformed: str, stream: bool
) -> None:
    response = await answered(client_of(server, scenario), stream=stream)

    assert response.tool_calls[-1].malformed == malformed


@both_ways
@pytest.mark.parametrize("scenario", ["one_byte_at_a_time", "carriage_returns", "no_done"])
async def test_an_answer_is_read_however_it_comes(server: OpenAIServer, scenario: str, stream: bool) -> None:
    assert (await answered(client_of(server, scenario), stream=stream)).content == HELLO


@both_ways
async def test_half_a_character_from_the_model_costs_one_character(
    server: OpenAIServer, stream: bool
) -> None:
    response = await answered(client_of(server, "half_a_character"), stream=stream)

    assert response.content == "broken \ufffd here"


@both_ways
async def test_a_megabyte_of_any_language_goes_there_and_back(server: OpenAIServer, stream: bool) -> None:
    text = "Grüße 你好 🌍 " * 40_000
    response = await answered(client_of(server, "echo"), Request([Message.user(text)]), stream=stream)

    assert response.content == text


@both_ways
@pytest.mark.requirement("P8", "002-R8")
@pytest.mark.parametrize(
    ("scenario", "error", "kind", "retryable", "status"),
    [
        ("bad_request", ProviderError, ErrorKind.INVALID, False, 400),
        ("prompt_too_long", ContextOverflowError, ErrorKind.INVALID, False, 400),
        ("prompt_too_long_locally", ContextOverflowError, ErrorKind.INVALID, False, 400),
        ("wrong_key", AuthenticationError, ErrorKind.AGENT, False, 401),
        ("forbidden", AuthenticationError, ErrorKind.AGENT, False, 403),
        ("no_such_model", ProviderError, ErrorKind.INVALID, False, 404),
        ("too_large", ContextOverflowError, ErrorKind.INVALID, False, 413),
        ("rate_limited", RateLimitError, ErrorKind.RATE_LIMIT, True, 429),
        ("no_credit", RateLimitError, ErrorKind.RATE_LIMIT, False, 429),
        ("server_error", ServerError, ErrorKind.AGENT, True, 500),
        ("overloaded", ServerError, ErrorKind.AGENT, True, 503),
        ("error_event", ServerError, ErrorKind.AGENT, True, 500),
        ("error_event_with_status", ProviderError, ErrorKind.INVALID, False, 400),
        ("error_event_rate_limit", RateLimitError, ErrorKind.RATE_LIMIT, True, 429),
    ],
)
async def test_an_error_of_the_server_is_typed(
    server: OpenAIServer,
    scenario: str,
    error: type[ProviderError],
    kind: ErrorKind,
    retryable: bool,
    status: int,
    stream: bool,
) -> None:
    with pytest.raises(ProviderError) as caught:
        await answered(client_of(server, scenario), stream=stream)

    raised = caught.value
    assert type(raised) is error
    assert (raised.kind, raised.retryable, raised.status) == (kind, retryable, status)
    assert raised.request_id == REQUEST_ID
    assert "127.0.0.1" in str(raised)
    assert len(server.received) == 1  # retries are the caller's


@both_ways
@pytest.mark.requirement("P8", "002-R8")
@pytest.mark.parametrize(
    ("scenario", "error", "kind"),
    [
        ("html", MalformedResponseError, ErrorKind.AGENT),
        ("html_error", ServerError, ErrorKind.AGENT),
        ("redirect", ProviderError, ErrorKind.INVALID),
        ("gave_up", ServerError, ErrorKind.AGENT),
        ("bad_json", MalformedResponseError, ErrorKind.AGENT),
        ("wrong_shape", MalformedResponseError, ErrorKind.AGENT),
        ("orphan_piece", MalformedResponseError, ErrorKind.AGENT),
        ("not_http", MalformedResponseError, ErrorKind.AGENT),
        ("hang", TimeoutError, ErrorKind.TIMEOUT),
        ("stall", TimeoutError, ErrorKind.TIMEOUT),
    ],
)
async def test_whatever_else_goes_wrong_is_typed_too(
    server: OpenAIServer, scenario: str, error: type[AgentError], kind: ErrorKind, stream: bool
) -> None:
    with pytest.raises(AgentError) as caught:
        await answered(client_of(server, scenario, timeouts=BRIEF), stream=stream)

    assert type(caught.value) is error
    assert caught.value.kind is kind


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("scenario", ["cut", "cut_in_a_call", "no_stop", "done_too_soon", "nothing"])
async def test_a_stream_that_breaks_off_is_a_streaming_error(server: OpenAIServer, scenario: str) -> None:
    with pytest.raises(StreamingError) as caught:
        await collected(client_of(server, scenario))

    assert caught.value.kind is ErrorKind.NETWORK
    assert caught.value.retryable
    assert REQUEST_ID in str(caught.value)


@pytest.mark.requirement("P8")
@pytest.mark.parametrize(
    ("scenario", "error"),
    [
        ("cut", NetworkError),
        ("done_too_soon", MalformedResponseError),
        ("nothing", MalformedResponseError),
    ],
)
async def test_a_body_that_breaks_off_is_an_error(
    server: OpenAIServer, scenario: str, error: type[AgentError]
) -> None:
    with pytest.raises(error) as caught:
        await answered(client_of(server, scenario))

    assert caught.value.retryable


@pytest.mark.requirement("P8")
async def test_a_call_whose_stream_broke_off_cannot_run_though_its_arguments_are_there(
    server: OpenAIServer,
) -> None:
    with pytest.raises(StreamingError) as caught:
        await collected(client_of(server, "cut_in_a_call"))

    (partial,) = caught.value.partial_messages
    assert partial.content == "On it."
    assert partial.tool_calls == (ToolCall("call_1", "pay", malformed='{"euros":1}'),)


@pytest.mark.requirement("P8")
async def test_an_event_without_end_is_given_up_on(server: OpenAIServer) -> None:
    with pytest.raises(MalformedResponseError, match="without ending an event"):
        await collected(client_of(server, "endless_event"))


@pytest.mark.requirement("P8", "002-R8")
async def test_how_long_to_wait_is_told(server: OpenAIServer) -> None:
    with pytest.raises(RateLimitError) as caught:
        await answered(client_of(server, "rate_limited"))

    assert caught.value.retry_after == 7


@pytest.mark.requirement("P8")
async def test_a_key_that_the_server_repeats_is_not_repeated_by_us(server: OpenAIServer) -> None:
    with pytest.raises(AuthenticationError) as caught:
        await answered(client_of(server, "key_echoed"))

    assert KEY not in str(caught.value)
    assert "***" in str(caught.value)


@pytest.mark.requirement("P8")
async def test_a_server_that_is_not_there_is_a_network_error(unused_port: int) -> None:
    with pytest.raises(NetworkError, match="could not be reached"):
        await answered(connect("m", base_url=f"http://127.0.0.1:{unused_port}"))


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("base_url", ["localhost:11434", "ftp://localhost/v1", "http://[::1", "nonsense"])
async def test_an_address_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(InvalidInputError, match="http://") as caught:
        await answered(connect("m", base_url=base_url))

    assert caught.value.field == "base_url"


@pytest.mark.requirement("P8", "002-R6")
async def test_an_end_of_the_body_that_never_comes_does_not_hold_up_the_answer(server: OpenAIServer) -> None:
    async with asyncio.timeout(5):
        assert (await answered(client_of(server, "never_ends"), stream=True)).content == HELLO


@both_ways
@pytest.mark.requirement("002-R6")
async def test_cancelling_closes_the_connection_at_once(server: OpenAIServer, stream: bool) -> None:
    client = client_of(server, "stall")
    task = asyncio.create_task(answered(client, stream=stream))
    async with asyncio.timeout(5):
        await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.dropped.wait()


@pytest.mark.requirement("002-R6")
async def test_a_stream_nobody_reads_to_its_end_closes_the_connection(server: OpenAIServer) -> None:
    async with client_of(server, "stall") as client:
        async with open_stream(client, HI) as stream:
            assert isinstance(await anext(stream), TextDelta)
        async with asyncio.timeout(5):
            await server.dropped.wait()


async def test_a_client_that_was_closed_opens_again(server: OpenAIServer) -> None:
    client = client_of(server)
    await client.run(HI)
    await client.aclose()

    assert (await answered(client)).content == HELLO
    assert len(server.connections) == 2


async def test_a_transport_may_be_shared_and_outlives_the_clients(server: OpenAIServer) -> None:
    transport = default_transport()
    try:
        await answered(client_of(server, transport=transport))
        await answered(client_of(server, "tool", transport=transport))
    finally:
        await transport.aclose()

    assert len(server.connections) == 1


async def test_a_private_certificate_authority_can_be_trusted() -> None:
    authority = trustme.CA()
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server_tls)
    client_tls = ssl.create_default_context()
    authority.configure_trust(client_tls)
    async with OpenAIServer(tls=server_tls) as server:
        assert (await answered(client_of(server, tls=client_tls))).content == HELLO
        with pytest.raises(NetworkError, match="TLS"):
            await answered(client_of(server))


@pytest.mark.parametrize(
    "path", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/text/v1", "/text/v1?api-version=2"]
)
async def test_a_base_url_is_taken_with_and_without_its_version(server: OpenAIServer, path: str) -> None:
    await answered(connect("m", base_url=server.url + path))

    assert server.received[0].path.endswith("/v1/chat/completions")


async def test_the_key_and_headers_go_along(server: OpenAIServer) -> None:
    await answered(client_of(server, headers={"OpenAI-Organization": "org-1", "User-Agent": "mine"}))

    headers = server.received[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["openai-organization"] == "org-1"
    assert headers["user-agent"] == "mine"


@pytest.mark.parametrize("header", ["api-key", "Authorization"])
async def test_a_header_that_has_the_key_stands_in_for_it(server: OpenAIServer, header: str) -> None:
    await answered(client_of(server, headers={header: "Token x"}))

    headers = server.received[0].headers
    assert headers[header] == "Token x"
    assert KEY not in headers.get("authorization", "")


async def test_the_key_is_looked_for_in_the_environment(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-openai")
    await answered(connect("m", base_url=server.url))
    monkeypatch.setenv("MAVERICK_AGENT_API_KEY", " from-maverick\n")
    await answered(connect("m", base_url=server.url))

    keys = [received.headers["authorization"] for received in server.received]
    assert keys == ["Bearer from-openai", "Bearer from-maverick"]


async def test_the_address_is_looked_for_in_the_environment(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.at("tool"))

    assert (await answered(connect("m"))).tool_calls


async def test_a_server_of_ones_own_needs_no_key(server: OpenAIServer) -> None:
    await answered(connect("m", base_url=server.url))

    assert "authorization" not in server.received[0].headers


@pytest.mark.requirement("P8")
async def test_openai_needs_a_key_and_the_error_says_where_it_was_looked_for() -> None:
    with allow_network(), pytest.raises(AuthenticationError) as caught:
        await answered(connect("gpt-5"))

    assert "MAVERICK_AGENT_API_KEY or OPENAI_API_KEY" in str(caught.value)


async def test_no_request_leaves_while_the_network_is_forbidden() -> None:
    with forbid_network(), pytest.raises(NetworkError, match="forbid_network"):
        await answered(connect("gpt-5", api_key=KEY))


async def test_a_request_may_name_another_model_of_the_provider(server: OpenAIServer) -> None:
    async with client_of(server) as client:
        for named in ("openai:llama3.2:3b", "claude:claude-x", ""):
            await client.run(Request([Message.user("hi")], config=RequestConfig(model=named)))

    assert [received.body["model"] for received in server.received] == [
        "llama3.2:3b",
        "test-model",
        "test-model",
    ]


async def test_other_servers_are_told_the_token_limit_under_its_old_name(server: OpenAIServer) -> None:
    await answered(client_of(server, max_tokens=50))

    assert server.received[0].body["max_tokens"] == 50


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        (None, "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("https://notapi.openai.com.example/v1", "max_tokens"),
    ],
)
async def test_openai_is_told_the_token_limit_under_its_new_name(base_url: str | None, name: str) -> None:
    transport = Recorder()
    client = connect("gpt-5", api_key=KEY, base_url=base_url, transport=transport, max_tokens=50)
    with allow_network(), pytest.raises(ProviderError):
        await client.run(HI)

    assert json.loads(transport.body)[name] == 50


class Recorder:
    """A transport that keeps what it is given and gets no further."""

    body = b""

    async def request(self, method: str, url: str, *, headers: Any, body: bytes = b"") -> Any:
        self.body = body
        raise ProviderError("no further")

    async def aclose(self) -> None:
        """There is nothing to close."""


@both_ways
async def test_the_cost_is_known_where_a_price_is_given(server: OpenAIServer, stream: bool) -> None:
    client = client_of(server, prices={"test-model": Price(input=1, output=2)})
    response = await answered(client, stream=stream)

    assert response.usage.cost_usd == pytest.approx((118 * 1 + 42 * 2) / 1_000_000)


async def test_a_model_on_somebodys_server_has_no_list_price(server: OpenAIServer) -> None:
    client = connect("claude-sonnet-4-5", base_url=server.url)

    assert (await answered(client)).usage.cost_usd is None
    assert client.model_info("claude-sonnet-4-5").context_window is None


def test_a_client_tells_what_it_knows_of_a_model(server: OpenAIServer) -> None:
    price = Price(input=1, output=2)
    client = client_of(server, prices={"test-model": price})

    assert client.model_info("openai:test-model").price == price
    assert client.model_info("openai:test-model").native_output
    assert client.model_info("another").price is None


def test_a_dated_model_of_openai_has_the_price_of_the_undated_one() -> None:
    price = Price(input=1, output=2)
    client = connect("gpt-5", prices={"gpt-5": price})

    assert client.model_info("gpt-5-2025-08-07").price == price


async def test_the_provider_is_connected_by_its_name(server: OpenAIServer) -> None:
    client = maverick.connect("openai:test-model", base_url=server.url)

    assert isinstance(client, OpenAIClient)
    assert (await answered(client)).content == HELLO


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
