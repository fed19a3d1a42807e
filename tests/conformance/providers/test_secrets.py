"""A secret goes to the provider and nowhere else, while a run is told in every way there is.

Here the canary is the key, a header and a part of the address; :mod:`canary` looks at what comes out.
"""

from __future__ import annotations

import io
import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from canary import CANARY, lookout
from conformance.providers.scenarios import Scenario
from conformance.providers.wired import (
    ClaudeProvider,
    ClaudeSDKProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    WiredProvider,
)
from maverick import AgentExecutor, connect, tool
from maverick.exceptions import AuthenticationError
from maverick.journal import SqliteJournal
from maverick.model import Message, Request, RequestConfig, Response, TextDelta
from maverick.providers import Client
from maverick.telemetry import configure_logging, instrument, uninstrument
from maverick.testing import RecordingClient
from scenario import agent
from wire.claude_server import ClaudeServer
from wire.openai_server import OpenAIServer

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

SCENARIOS = (
    Scenario.TOOL,
    Scenario.WRONG_KEY,
    Scenario.KEY_ECHOED,
    Scenario.SERVER_ERROR,
    Scenario.HTML_ERROR,
    Scenario.BAD_JSON,
    Scenario.CUT,
)


class Told:
    """What logs, spans and metrics were told."""

    def __init__(self) -> None:
        self.log = io.StringIO()
        self._spans = InMemorySpanExporter()
        self._metrics = InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meters = MeterProvider([self._metrics], shutdown_on_exit=False)

    def everything(self) -> dict[str, str]:
        """All of it, by what it is."""
        metrics = self._metrics.get_metrics_data()
        return {
            "the log": self.log.getvalue(),
            "spans": "".join(span.to_json() for span in self._spans.get_finished_spans()),
            "metrics": metrics.to_json() if metrics else "",
        }


@pytest.fixture
def told() -> Iterator[Told]:
    told = Told()
    configure_logging(logging.DEBUG, stream=told.log)
    instrument(tracer_provider=told.tracers, meter_provider=told.meters)
    yield told
    uninstrument()


@tool(effect="pure")
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


each_wire = pytest.mark.parametrize(
    "provider",
    [ClaudeProvider(), ClaudeSDKProvider(), OpenAIProvider()],
    ids=lambda provider: provider.name,
)


every_wire = pytest.mark.parametrize(
    "provider",
    [ClaudeProvider(), ClaudeSDKProvider(), OpenAIProvider(), OpenAIResponsesProvider()],
    ids=lambda provider: provider.name,
)


async def run_recorded(wire: Client, folder: Path, told: Told) -> None:
    """Run an agent whose every word is kept and told, and look at what became of it."""
    async with (
        RecordingClient(wire, folder / "tape.jsonl") as client,
        SqliteJournal(folder / "runs.db") as journal,
    ):
        result = await AgentExecutor(client, journal=journal).execute(agent(add))
    for place, content in {"the result": repr(result), **told.everything()}.items():
        assert content, f"{place} is empty"
        assert CANARY not in content
        lookout.look(place, content)


@pytest.mark.requirement("P9-CANARY")
@pytest.mark.parametrize("scenario", SCENARIOS)
@each_wire
async def test_a_run_tells_no_key_and_no_header_however_it_ends(
    provider: WiredProvider, scenario: Scenario, told: Told, tmp_path: Path
) -> None:
    async with provider.server(None) as server:
        wire = connect(
            provider.model,
            api_key=CANARY,
            base_url=server.at(scenario.value),
            headers={"x-gateway-token": CANARY},
        )

        await run_recorded(wire, tmp_path, told)

    headers = server.received[0].headers
    assert headers["x-gateway-token"] == CANARY
    assert CANARY in (headers.get("x-api-key") or headers["authorization"])


@pytest.mark.requirement("P9-CANARY")
@each_wire
async def test_a_run_tells_no_password_of_the_address(
    provider: WiredProvider, told: Told, tmp_path: Path
) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # taken, and not listening
        address = f"http://user:{CANARY}@127.0.0.1:{held.getsockname()[1]}/v1?key={CANARY}"

        await run_recorded(connect(provider.model, base_url=address, api_key=CANARY), tmp_path, told)


@pytest.mark.parametrize("model", ["claude:claude-test", "claude-sdk:claude-test", "openai:gpt-test"])
async def test_a_secret_among_the_settings_that_a_service_repeats_is_in_no_error(model: str) -> None:
    server = OpenAIServer() if model.startswith("openai") else ClaudeServer()
    extra = {"mcp_servers": [{"url": "https://tasks.test", "authorization_token": CANARY}]}
    request = Request([Message.user("hi")], config=RequestConfig(extra=extra))
    async with server, connect(model, api_key="x", base_url=server.at("key_echoed")) as client:
        with pytest.raises(AuthenticationError, match=r"tasks\.test") as caught:
            await client.run(request)

    assert CANARY not in str(caught.value)
    # A key of one letter hides nothing, and its letter stays in the words.
    assert "x…), [{" in str(caught.value)


@pytest.mark.requirement("P9-CANARY")
@every_wire
async def test_pieces_of_a_key_that_a_service_repeats_are_in_no_error(provider: WiredProvider) -> None:
    pieces = [CANARY[start : start + 8] for start in range(len(CANARY) - 7)]
    async with (
        provider.server(None) as server,
        connect(provider.model, api_key=CANARY, base_url=server.at("key_echoed")) as client,
    ):
        result = await AgentExecutor(client).execute(agent())

    assert "bad key" in str(result.error)
    assert [piece for piece in pieces if piece in str(result.error)] == []


@pytest.mark.requirement("P9-CANARY")
@pytest.mark.parametrize("follows", [", or not?", ""])
@every_wire
async def test_a_key_that_a_model_says_in_small_pieces_is_in_no_piece_nor_in_all_of_them(
    provider: WiredProvider, follows: str
) -> None:
    asked = f"Its keys start with {CANARY[:6]}: sk-{CANARY}{follows}"
    async with (
        provider.server(None) as server,
        connect(provider.model, api_key=CANARY, base_url=server.at("echo_in_pieces")) as client,
    ):
        *deltas, response = [item async for item in client.stream(Request([Message.user(asked)]))]

    told = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    assert isinstance(response, Response)
    assert told == response.content == asked.replace(CANARY, "***")


@every_wire
async def test_the_beginning_of_a_key_at_the_end_of_an_answer_is_told(provider: WiredProvider) -> None:
    asked = f"Its keys start with {CANARY[:6]}"
    async with (
        provider.server(None) as server,
        connect(provider.model, api_key=CANARY, base_url=server.at("echo_in_pieces")) as client,
    ):
        items = [item async for item in client.stream(Request([Message.user(asked)]))]

    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == asked
