"""Everything that goes wrong between us and the Claude API is one of our errors, and says what to do."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from canary import CANARY
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
from maverick.model import Message, Request
from maverick.providers.claude.client import ClaudeClient, connect
from maverick.providers.http.transport import Timeouts
from maverick.providers.network import allow_network
from wire.claude_server import FAULTS, HELLO, SILENT, ClaudeServer

KEY = CANARY
HI = Request([Message.user("hi")])
PATIENT = Timeouts(connect=5, first_byte=5, idle=5)
IMPATIENT = Timeouts(connect=2, first_byte=0.3, idle=0.2)

pytestmark = pytest.mark.requirement("P8", "002-R8")


@pytest.fixture
async def server() -> AsyncIterator[ClaudeServer]:
    async with ClaudeServer() as server:
        yield server


async def listen(client: ClaudeClient) -> None:
    async for _ in client.stream(HI):
        pass


async def failure(base_url: str, *, stream: bool, **options: Any) -> AgentError:
    timeouts = IMPATIENT if base_url.endswith(SILENT) else PATIENT
    options = {"api_key": KEY, "timeouts": timeouts, **options}
    async with connect("claude-test", base_url=base_url, **options) as client:
        with pytest.raises(AgentError) as caught:
            await (listen(client) if stream else client.run(HI))
    shown: BaseException | None = caught.value
    while shown is not None:  # all that a traceback would show
        assert type(shown).__module__.partition(".")[0] in {"maverick", "builtins", "ssl", "socket"}
        assert KEY not in str(shown) + repr(shown)
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
    return caught.value


both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@both
@pytest.mark.parametrize(
    ("fault", "expected", "status", "kind", "retryable"),
    [
        ("bad_request", ProviderError, 400, ErrorKind.INVALID, False),
        ("prompt_too_long", ContextOverflowError, 400, ErrorKind.INVALID, False),
        ("wrong_key", AuthenticationError, 401, ErrorKind.AGENT, False),
        ("no_credit", ProviderError, 402, ErrorKind.INVALID, False),
        ("forbidden", AuthenticationError, 403, ErrorKind.AGENT, False),
        ("no_such_model", ProviderError, 404, ErrorKind.INVALID, False),
        ("too_large", ContextOverflowError, 413, ErrorKind.INVALID, False),
        ("rate_limited", RateLimitError, 429, ErrorKind.RATE_LIMIT, True),
        ("server_error", ServerError, 500, ErrorKind.AGENT, True),
        ("overloaded", ServerError, 529, ErrorKind.AGENT, True),
    ],
)
async def test_each_status_is_its_own_error(
    server: ClaudeServer,
    stream: bool,
    fault: str,
    expected: type[ProviderError],
    status: int,
    kind: ErrorKind,
    retryable: bool,
) -> None:
    error = await failure(server.at(fault), stream=stream)
    assert type(error) is expected
    assert isinstance(error, ProviderError)
    assert (error.status, error.kind, error.retryable) == (status, kind, retryable)
    assert error.request_id == "req_test_1"
    assert "req_test_1" in str(error)


@both
async def test_how_long_to_wait_is_passed_on(server: ClaudeServer, stream: bool) -> None:
    seconds = await failure(server.at("rate_limited"), stream=stream)
    assert isinstance(seconds, RateLimitError)
    assert seconds.retry_after == 7
    date = await failure(server.at("rate_limited_until"), stream=stream)
    assert isinstance(date, RateLimitError)
    assert date.retry_after is not None
    assert date.retry_after > 1_000_000
    overloaded = await failure(server.at("overloaded"), stream=stream)
    assert isinstance(overloaded, ServerError)
    assert overloaded.retry_after == 2


@both
async def test_a_key_the_service_repeats_is_not_repeated_by_us(server: ClaudeServer, stream: bool) -> None:
    error = await failure(server.at("key_echoed"), stream=stream)
    assert type(error) is AuthenticationError
    assert "bad key ***" in str(error)


@both
async def test_a_page_in_place_of_an_answer_is_malformed(server: ClaudeServer, stream: bool) -> None:
    error = await failure(server.at("html"), stream=stream)
    assert type(error) is MalformedResponseError
    assert "Log in" in error.raw_response
    assert "proxy or a login page" in str(error)


@both
async def test_a_page_with_an_error_status_is_that_error(server: ClaudeServer, stream: bool) -> None:
    error = await failure(server.at("html_error"), stream=stream)
    assert type(error) is ServerError
    assert error.status == 502


@both
async def test_a_redirect_is_not_followed_and_says_so(server: ClaudeServer, stream: bool) -> None:
    error = await failure(server.at("redirect"), stream=stream)
    assert type(error) is ProviderError
    assert "base_url" in str(error)


@both
async def test_an_error_inside_a_good_answer_is_that_error(server: ClaudeServer, stream: bool) -> None:
    error = await failure(server.at("error_event"), stream=stream)
    assert type(error) is ServerError
    assert error.status == 529
    assert error.request_id == "req_test_1"
    assert error.retryable


@both
async def test_json_that_is_none_is_malformed(server: ClaudeServer, stream: bool) -> None:
    error = await failure(server.at("bad_json"), stream=stream)
    assert type(error) is MalformedResponseError
    assert "oops" in error.raw_response
    assert "req_test_1" in str(error)
    assert error.retryable


async def test_a_whole_answer_without_a_body_is_malformed(server: ClaudeServer) -> None:
    assert type(await failure(server.at("nothing"), stream=False)) is MalformedResponseError


@pytest.mark.parametrize("fault", ["nothing", "no_stop", "cut"])
async def test_a_stream_that_ends_too_early_is_a_streaming_error(server: ClaudeServer, fault: str) -> None:
    error = await failure(server.at(fault), stream=True)
    assert type(error) is StreamingError
    assert (error.kind, error.retryable) == (ErrorKind.NETWORK, True)
    assert "req_test_1" in str(error)
    said = "".join(message.content for message in error.partial_messages)
    assert HELLO.startswith(said)
    assert bool(said) == (fault != "nothing")


async def test_a_whole_answer_that_breaks_off_is_a_network_error(server: ClaudeServer) -> None:
    error = await failure(server.at("cut"), stream=False)
    assert type(error) is NetworkError
    assert error.retryable


@both
@pytest.mark.parametrize("fault", ["hang", "stall"])
async def test_silence_is_a_timeout_error(server: ClaudeServer, stream: bool, fault: str) -> None:
    error = await failure(server.at(fault), stream=stream)
    assert type(error) is TimeoutError
    assert (error.kind, error.retryable) == (ErrorKind.TIMEOUT, True)
    assert "raise the timeout" in str(error)
    assert ("req_test_1" in str(error)) == (stream and fault == "stall")


@both
async def test_a_server_that_does_not_speak_http_is_malformed(server: ClaudeServer, stream: bool) -> None:
    assert type(await failure(server.at("not_http"), stream=stream)) is MalformedResponseError


async def test_an_event_without_an_end_is_malformed(server: ClaudeServer) -> None:
    assert type(await failure(server.at("endless_event"), stream=True)) is MalformedResponseError


@both
async def test_nobody_at_the_other_end_is_a_network_error(stream: bool) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        error = await failure(f"http://127.0.0.1:{held.getsockname()[1]}", stream=stream)
    assert type(error) is NetworkError
    assert error.kind is ErrorKind.NETWORK


@both
async def test_a_host_that_is_none_is_a_network_error(stream: bool) -> None:
    with allow_network():
        error = await failure("https://no-such-host.invalid", stream=stream)
    assert type(error) is NetworkError
    assert "could not be resolved" in str(error)


@both
async def test_an_address_that_is_none_is_an_invalid_input(stream: bool) -> None:
    with allow_network():
        assert type(await failure("localhost:8000", stream=stream)) is InvalidInputError


@both
async def test_a_key_with_a_line_break_in_it_is_an_invalid_input(server: ClaudeServer, stream: bool) -> None:
    error = await failure(server.at("html"), stream=stream, headers={"x-api-key": f"{KEY}\r\nx: y"})
    assert type(error) is InvalidInputError


def test_every_fault_of_the_server_is_tried_here() -> None:
    source = Path(__file__).read_text()
    harmless = {"one_byte_at_a_time", "carriage_returns", "never_ends"}
    assert [fault for fault in FAULTS if f'"{fault}"' not in source and fault not in harmless] == []
