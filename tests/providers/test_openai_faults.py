"""Everything that goes wrong between us and a Chat Completions server is one of our errors, and says what to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
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
)
from maverick.model import ToolCall
from maverick.providers.http.transport import Timeouts
from maverick.providers.network import allow_network, forbid_network
from maverick.providers.openai.client import OpenAIClient, connect
from wire.asking import answered, both_ways, collected
from wire.openai_answers import REQUEST_ID
from wire.openai_server import OpenAIServer

BRIEF = Timeouts(connect=5, first_content=0.2, between_content=0.2)
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


@both_ways
@pytest.mark.requirement("P8")
@pytest.mark.parametrize(
    ("scenario", "malformed"),
    [
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
@pytest.mark.requirement("P8", "002-R8")
@pytest.mark.parametrize(
    ("scenario", "error", "kind", "retryable", "status"),
    [
        ("prompt_too_long_locally", ContextOverflowError, ErrorKind.INVALID, False, 400),
        ("no_credit", RateLimitError, ErrorKind.RATE_LIMIT, False, 429),
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
        ("gave_up", ServerError, ErrorKind.AGENT),
        ("wrong_shape", MalformedResponseError, ErrorKind.AGENT),
        ("orphan_piece", MalformedResponseError, ErrorKind.AGENT),
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
@pytest.mark.parametrize("scenario", ["cut_in_a_call", "done_too_soon"])
async def test_a_stream_that_breaks_off_is_a_streaming_error(server: OpenAIServer, scenario: str) -> None:
    with pytest.raises(StreamingError) as caught:
        await collected(client_of(server, scenario))

    assert caught.value.kind is ErrorKind.NETWORK
    assert caught.value.retryable
    assert REQUEST_ID in str(caught.value)


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
@pytest.mark.parametrize("base_url", ["localhost:11434", "ftp://localhost/v1", "http://[::1", "nonsense"])
async def test_an_invalid_address_is_refused(base_url: str) -> None:
    with pytest.raises(InvalidInputError, match="http://") as caught:
        await answered(connect("m", base_url=base_url))

    assert caught.value.field == "base_url"


@pytest.mark.requirement("P8")
async def test_openai_needs_a_key_and_the_error_says_where_it_was_looked_for() -> None:
    with allow_network(), pytest.raises(AuthenticationError) as caught:
        await answered(connect("gpt-5"))

    assert "Set OPENAI_API_KEY" in str(caught.value)


async def test_no_request_leaves_while_the_network_is_forbidden() -> None:
    with forbid_network(), pytest.raises(NetworkError, match="forbid_network"):
        await answered(connect("gpt-5", api_key=KEY))
