"""Which server the ``openai:`` client asks, with which key and for which model, and what it knows of that."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

import maverick
from canary import CANARY
from maverick.exceptions import InvalidInputError, ProviderError
from maverick.model import Message, Price, Request, RequestConfig
from maverick.providers.network import allow_network
from maverick.providers.openai.client import OpenAIClient, connect
from wire.asking import HI, answered, both_ways
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


async def test_the_key_and_the_address_are_looked_for_in_the_environment(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", server.at("tool"))

    assert (await answered(maverick.connect("openai:m"))).tool_calls
    assert server.received[0].headers["authorization"] == "Bearer from-openai"


async def test_a_server_of_ones_own_needs_no_key(server: OpenAIServer) -> None:
    await answered(connect("m", base_url=server.url))

    assert "authorization" not in server.received[0].headers


async def test_a_request_may_name_another_model_of_the_provider(server: OpenAIServer) -> None:
    async with client_of(server) as client:
        for named in ("openai:llama3.2:3b", "gpt-x", ""):
            await client.run(Request([Message.user("hi")], config=RequestConfig(model=named)))

    assert [received.body["model"] for received in server.received] == [
        "llama3.2:3b",
        "gpt-x",
        "test-model",
    ]


async def test_other_servers_are_told_the_token_limit_under_its_old_name(server: OpenAIServer) -> None:
    await answered(client_of(server, max_tokens=50))

    assert server.received[0].body["max_tokens"] == 50


AZURE = "https://mine.openai.azure.com/openai/v1"


@pytest.mark.parametrize(
    ("provider", "base_url", "url", "limit"),
    [
        ("openai", None, "https://api.openai.com/v1/responses", "max_output_tokens"),
        (
            "openai",
            "https://eu.api.openai.com/v1",
            "https://eu.api.openai.com/v1/responses",
            "max_output_tokens",
        ),
        ("openai", AZURE, f"{AZURE}/responses", "max_output_tokens"),
        ("openai", "https://mine.openai.azure.com", f"{AZURE}/responses", "max_output_tokens"),
        (
            "openai",
            "https://mine.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21",
            "https://mine.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
            "max_completion_tokens",
        ),
        (
            "openai",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
            "max_tokens",
        ),
        ("openai", "http://localhost:11434", "http://localhost:11434/v1/chat/completions", "max_tokens"),
        (
            "openai",
            "https://notapi.openai.com.example",
            "https://notapi.openai.com.example/v1/chat/completions",
            "max_tokens",
        ),
        ("openai-chat", None, "https://api.openai.com/v1/chat/completions", "max_completion_tokens"),
        (
            "openai-responses",
            "http://localhost:8000",
            "http://localhost:8000/v1/responses",
            "max_output_tokens",
        ),
    ],
)
async def test_the_address_and_the_name_decide_which_api_is_spoken(
    provider: str, base_url: str | None, url: str, limit: str
) -> None:
    transport = Recorder()
    options: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
    client = maverick.connect(
        f"{provider}:gpt-5", api_key="mine", transport=transport, max_tokens=50, **options
    )
    with allow_network(), pytest.raises(ProviderError):
        await client.run(HI)

    assert transport.url == url
    assert json.loads(transport.body)[limit] == 50
    assert client.model == f"{provider}:gpt-5"


@pytest.mark.parametrize("base_url", [AZURE, "https://mine.services.ai.azure.com/openai/v1"])
async def test_azure_gets_the_key_in_a_header_of_its_own(base_url: str) -> None:
    transport = Recorder()
    with allow_network(), pytest.raises(ProviderError):
        await connect("deployment", api_key=KEY, base_url=base_url, transport=transport).run(HI)

    assert transport.headers["api-key"] == KEY
    assert "authorization" not in transport.headers


@pytest.mark.parametrize("provider", ["openai", "openai-chat", "openai-responses"])
async def test_every_name_of_the_provider_finds_the_same_key(
    monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key")
    transport = Recorder()
    with allow_network(), pytest.raises(ProviderError):
        await maverick.connect(f"{provider}:gpt-5", transport=transport).run(HI)

    assert transport.headers["authorization"] == "Bearer openai-key"


def test_thoughts_go_back_by_themselves_where_responses_is_spoken() -> None:
    with pytest.raises(InvalidInputError, match="thoughts_field"):
        connect("gpt-5", thoughts_field="reasoning_content")


class Recorder:
    """A transport that keeps what it is given and gets no further."""

    body = b""
    url = ""
    headers: Mapping[str, str] = {}

    async def request(self, method: str, url: str, *, headers: Any, body: Sequence[bytes] = ()) -> Any:
        self.url, self.headers, self.body = url, headers, b"".join(body)
        raise ProviderError("no further")

    async def aclose(self) -> None:
        """There is nothing to close."""


@both_ways
async def test_the_cost_is_known_where_a_price_is_given(server: OpenAIServer, stream: bool) -> None:
    client = client_of(server, prices={"test-model": Price(input=1, output=2)})
    response = await answered(client, stream=stream)

    assert response.usage.cost_usd == pytest.approx((118 * 1 + 42 * 2) / 1_000_000)


async def test_a_model_on_another_server_has_no_list_price(server: OpenAIServer) -> None:
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


def test_nothing_heavy_is_loaded_before_the_first_request() -> None:
    script = """
        import sys, maverick
        maverick.connect("openai:m", base_url="http://localhost")
        print({"aiohttp", "pydantic", "openai"} & sys.modules.keys())
    """
    loaded = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )

    assert loaded.stdout.strip() == "set()"
