"""The ``claude-sdk:`` client, held to the ``claude:`` client: same requests, same answers, same errors."""

from __future__ import annotations

import json
import re
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import anthropic
import pytest

import maverick
from canary import CANARY
from maverick.config.installation import install_command
from maverick.exceptions import (
    AgentError,
    AuthenticationError,
    ErrorKind,
    InvalidInputError,
    NetworkError,
    TimeoutError,
)
from maverick.model import (
    Message,
    OutputSchema,
    Price,
    Request,
    RequestConfig,
    Text,
    Thought,
    ToolCall,
)
from maverick.providers.claude import client as claude_api
from maverick.providers.claude import sdk as claude_sdk
from maverick.providers.claude.sdk import ClaudeSDKClient
from maverick.providers.client import Client
from maverick.providers.http.transport import Timeouts
from maverick.providers.network import allow_network
from wire.asking import HI, answered, both_ways, outcome
from wire.claude_answers import Answer, text
from wire.claude_server import ANSWERS, HELLO, ClaudeServer

KEY = CANARY
PATIENT = Timeouts(connect=5, first_content=5, between_content=5)
BRIEF = Timeouts(connect=2, first_content=0.3, between_content=0.2)
ENVIRONMENT = (
    "MAVERICK_AGENT_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_PROFILE",
    "ANTHROPIC_CONFIG_DIR",
)
TLS = (
    ssl.create_default_context()
)  # shared, because loading the machine's certificates takes longer than a test


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # where the SDK looks for profiles


@pytest.fixture
async def server() -> AsyncIterator[ClaudeServer]:
    async with ClaudeServer() as server:
        yield server


class Add:
    name = "add"
    description = "Add two numbers."
    parameters: Mapping[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}

    async def execute(self, args: dict[str, Any], /) -> str:
        raise AssertionError("not run here")


def sdk_client(server: ClaudeServer, scenario: str = "text", **options: Any) -> ClaudeSDKClient:
    options = {"api_key": KEY, "timeouts": PATIENT, "tls": TLS, **options}
    return claude_sdk.connect("claude-test", base_url=server.at(scenario), **options)


def requests() -> Iterator[Any]:
    conversation = [
        Message.user("What is 2 + 3?"),
        Message.assistant([Thought("A sum.", "c2ln"), Text("Let me see."), ToolCall("t1", "add", {"a": 2})]),
        Message.tool_result("t1", "five", is_error=True),
        Message.user("Danke — 谢谢 🎉"),
    ]
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    yield pytest.param(HI, id="plain")
    yield pytest.param(Request(conversation, tools=(Add(),), system="Be brief."), id="tools")
    yield pytest.param(Request(conversation, output=OutputSchema("place", schema)), id="output")
    yield pytest.param(
        Request(conversation, config=RequestConfig(max_tokens=7, temperature=0.5, model="claude-y")),
        id="settings",
    )


def both_clients(url: str, **options: Any) -> tuple[Client, Client]:
    """The lean client and the one on the SDK, set up alike."""
    options = {"api_key": KEY, "timeouts": PATIENT, "tls": TLS, **options}
    lean = claude_api.connect("claude-test", base_url=url, **options)
    return lean, claude_sdk.connect("claude-test", base_url=url, **options)


@both_ways
@pytest.mark.requirement("002-R5")
@pytest.mark.parametrize("request_", list(requests()))
async def test_both_clients_send_the_same_requests(
    server: ClaudeServer, request_: Request, stream: bool
) -> None:
    for client in both_clients(server.at("text")):
        await answered(client, request_, stream=stream)

    lean, official = server.received
    assert official.path == lean.path
    assert official.body == lean.body
    assert official.headers["anthropic-version"] == lean.headers["anthropic-version"]


@both_ways
@pytest.mark.requirement("002-R5")
@pytest.mark.parametrize("scenario", sorted(ANSWERS))
async def test_both_clients_make_the_same_of_every_answer(
    server: ClaudeServer, scenario: str, stream: bool
) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    request = Request([Message.user("hi")], output=OutputSchema("place", schema))

    lean, official = [
        await outcome(client, request, stream=stream) for client in both_clients(server.at(scenario))
    ]

    assert isinstance(lean, list)
    assert official == lean


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("base_url", ["localhost:80", "ftp://localhost/y", "http://[::1"])
async def test_an_invalid_address_is_refused(base_url: str) -> None:
    with allow_network():
        error = await outcome(claude_sdk.connect("m", base_url=base_url, api_key=KEY), stream=False)

    assert isinstance(error, InvalidInputError)
    assert error.field == "base_url"


@pytest.mark.requirement("P8")
async def test_a_key_that_cannot_be_a_header_is_told_without_repeating_it(server: ClaudeServer) -> None:
    error = await outcome(sdk_client(server, api_key="sk-sec\nret"), stream=False)

    assert isinstance(error, InvalidInputError)
    assert "sec" not in str(error)
    assert error.__cause__ is None


@pytest.mark.requirement("P8")
async def test_an_event_without_end_is_not_waited_for_for_ever(server: ClaudeServer) -> None:
    error = await outcome(sdk_client(server, "endless_event", timeouts=BRIEF), stream=True)

    assert isinstance(error, TimeoutError)


@pytest.mark.requirement("P8")
async def test_no_key_at_all_is_an_error_that_says_where_it_was_looked_for() -> None:
    with allow_network():
        error = await outcome(claude_sdk.connect("claude-test"), stream=False)

    assert isinstance(error, AuthenticationError)
    assert "ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN" in str(error)


@pytest.mark.requirement("P8")
async def test_a_profile_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_PROFILE", "work")
    error = await outcome(claude_sdk.connect("claude-test"), stream=False)

    assert isinstance(error, AuthenticationError)
    assert "'work'" in str(error)


@pytest.mark.requirement("P8")
async def test_a_client_of_the_sdk_without_credentials_is_told_so(server: ClaudeServer) -> None:
    given = anthropic.AsyncAnthropic(base_url=server.at("text"))
    async with given:
        error = await outcome(claude_sdk.connect("claude-test", client=given), stream=False)

    assert isinstance(error, AuthenticationError)


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("ANTHROPIC_API_KEY", "from the environment"),
        ("ANTHROPIC_AUTH_TOKEN", "from the environment"),
    ],
)
async def test_the_key_is_looked_for_in_the_environment(
    server: ClaudeServer, monkeypatch: pytest.MonkeyPatch, variable: str, expected: str
) -> None:
    monkeypatch.setenv(variable, expected)
    await answered(sdk_client(server, api_key=None, tls=TLS))

    assert server.received[0].headers["authorization"] == f"Bearer {expected}"


async def test_no_request_leaves_while_the_network_is_forbidden() -> None:
    error = await outcome(claude_sdk.connect("claude-test", api_key=KEY, tls=TLS), stream=False)

    assert isinstance(error, NetworkError)
    assert "forbid_network" in str(error)


@both_ways
async def test_one_connection_serves_turn_after_turn(server: ClaudeServer, stream: bool) -> None:
    async with sdk_client(server) as client:
        for _ in range(3):
            if stream:
                async for _item in client.stream(HI):
                    pass
            else:
                await client.run(HI)

    assert len(server.connections) == 1


class HelloHandler(BaseHTTPRequestHandler):
    """Says hello in a thread of its own, and keeps connections open from one event loop to the next."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(Answer([text(HELLO)]).message("claude-test")).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Nothing is logged."""


async def test_a_client_of_the_sdk_is_used_without_its_retries_and_stays_open(server: ClaudeServer) -> None:
    given = anthropic.AsyncAnthropic(base_url=server.at("overloaded"), api_key=KEY, max_retries=5)
    async with given:
        error = await outcome(claude_sdk.connect("claude-test", client=given), stream=False)

        assert isinstance(error, AgentError)
        assert error.retryable
        assert len(server.received) == 1
        assert not given.is_closed()


async def test_an_answer_that_may_be_long_can_be_asked_for_whole(server: ClaudeServer) -> None:
    async with anthropic.AsyncAnthropic(base_url=server.at("text"), api_key=KEY) as given:
        client = claude_sdk.connect("claude-test", client=given)
        request = Request([Message.user("hi")], config=RequestConfig(max_tokens=128_000))

        assert (await answered(client, request)).content == HELLO


async def test_a_request_may_name_another_model_of_the_provider(server: ClaudeServer) -> None:
    async with sdk_client(server) as client:
        for named in ("claude-sdk:anthropic.claude-x-v1:0", "claude-y", ""):
            await client.run(Request([Message.user("hi")], config=RequestConfig(model=named)))

    asked = [received.body["model"] for received in server.received]
    assert asked == ["anthropic.claude-x-v1:0", "claude-y", "claude-test"]


async def test_the_provider_is_connected_by_its_name(server: ClaudeServer) -> None:
    price = Price(input=1, output=2)
    client = maverick.connect(
        "claude-sdk:claude-test", base_url=server.at("text"), api_key=KEY, prices={"claude-test": price}
    )

    assert isinstance(client, ClaudeSDKClient)
    assert client.model_info("claude-sdk:claude-test").price == price
    assert client.model_info("claude-sdk:claude-test").native_output
    assert (await answered(client)).usage.cost_usd == pytest.approx((118 * 1 + 42 * 2) / 1_000_000)


@pytest.mark.requirement("P8")
def test_without_the_sdk_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("maverick.providers.claude.sdk")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "anthropic", None)

    with pytest.raises(AgentError, match=re.escape(install_command("claude-sdk"))) as caught:
        maverick.connect("claude-sdk:claude-test")

    assert caught.value.kind is ErrorKind.INVALID


@pytest.mark.requirement("P8", "002-R6")
async def test_a_connection_that_takes_too_long_is_a_timeout() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        address = deaf.getsockname()
        with socket.socket() as first, socket.socket() as second:
            for waiting in (first, second):  # after these its queue is full
                waiting.setblocking(False)
                waiting.connect_ex(address)
            client = claude_sdk.connect(
                "claude-test",
                base_url=f"http://127.0.0.1:{address[1]}",
                api_key=KEY,
                tls=TLS,
                timeouts=Timeouts(connect=0.2, first_content=5),
            )
            error = await outcome(client, stream=False)

    assert isinstance(error, TimeoutError)
    assert "took too long" in str(error)
