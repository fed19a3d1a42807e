"""Services that keep a connection busy and never answer: what counts is content, whatever else arrives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, RunConfig, connect
from maverick.config import AgentConfig
from maverick.exceptions import InvalidInputError, TimeoutError
from maverick.loop.events import RetryScheduled, RunEnd
from maverick.model import Message, Request
from maverick.providers import Client
from maverick.providers.http.transport import ContentTimer, Timeouts
from maverick.providers.network import allow_network
from maverick.providers.resolve import resolve
from wire.claude_server import ClaudeServer
from wire.tcp_server import tcp_server

FIRST = Timeouts(connect=30, first_content=0.4, between_content=60)
MORE = Timeouts(connect=30, first_content=60, between_content=0.2)
HI = Request([Message.user("hi")])
SSE = "text/event-stream"

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
COMMENT = b": still here\n\n"
BYTE = b"x"
SPACE = b" "


def event(**data: Any) -> bytes:
    return f"event: {data.get('type', 'message')}\ndata: {json.dumps(data)}\n\n".encode()


CLAUDE_START = event(type="message_start", message={"model": "m", "usage": {"input_tokens": 1}}) + event(
    type="content_block_start", index=0, content_block={"type": "text", "text": ""}
)
CLAUDE_TEXT = event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "Hello"})
CLAUDE_EMPTY = event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": ""})
CHAT_TEXT = event(choices=[{"index": 0, "delta": {"content": "Hello"}}])
CHAT_EMPTY = event(choices=[{"index": 0, "delta": {"content": ""}}])

RESPONSE_START = event(
    type="response.created", response={"id": "r", "status": "in_progress", "output": []}
) + event(
    type="response.output_item.added",
    output_index=0,
    item={"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []},
)
RESPONSE_TEXT, RESPONSE_EMPTY = (
    event(type="response.output_text.delta", output_index=0, content_index=0, item_id="m", delta=delta)
    for delta in ("Hello", "")
)

CLAUDES = ("claude:m", "claude-sdk:m")
BUSY_CLAUDE = (
    *((CLAUDE_START, repeated) for repeated in (PING, CLAUDE_EMPTY, COMMENT, BYTE)),
    *((CLAUDE_START + CLAUDE_TEXT, repeated) for repeated in (PING, CLAUDE_EMPTY, BYTE)),
)
BUSY = {
    **dict.fromkeys(CLAUDES, BUSY_CLAUDE),
    "openai-responses:m": tuple(
        (start, repeated)
        for start in (RESPONSE_START, RESPONSE_START + RESPONSE_TEXT)
        for repeated in (COMMENT, RESPONSE_EMPTY, BYTE)
    ),
    "openai:m": tuple(
        (start, repeated) for start in (b"", CHAT_TEXT) for repeated in (COMMENT, CHAT_EMPTY, BYTE)
    ),
}


@pytest.fixture(autouse=True)
def network() -> Iterator[None]:
    with allow_network():
        yield


@asynccontextmanager
async def busy_server(kind: str, start: bytes, repeated: bytes) -> AsyncIterator[str]:
    """Answers with the start, then with the same bytes again and again, for as long as the client listens."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:  # a client may leave before it asks
            return
        if kind:
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode())
            writer.write(start)
        while not writer.is_closing():
            if kind:
                writer.write(repeated)
            await asyncio.sleep(0.02)

    async with tcp_server(serve) as address:
        yield f"http://{address}"


def client_of(model: str, address: str, timeouts: Timeouts = FIRST) -> Client:
    base_url = f"{address}/v1" if model.startswith("openai") else address
    return connect(model, api_key="made-up", base_url=base_url, timeouts=timeouts)


@pytest.mark.parametrize("model", BUSY)
async def test_a_stream_without_content_ends_however_much_is_sent(model: str) -> None:
    async with asyncio.timeout(60):
        ends = await asyncio.gather(*(streamed(model, *busy) for busy in BUSY[model]))

    for (text, error), (start, _) in zip(ends, BUSY[model], strict=True):
        assert text == ("Hello" if b"Hello" in start else "")
        assert error.retryable
        limit = MORE.between_content if text else FIRST.first_content
        assert f"{'no more' if text else 'nothing'} of" in str(error)
        assert f"within {limit:g} s" in str(error)


async def streamed(model: str, start: bytes, repeated: bytes) -> tuple[str, TimeoutError]:
    text = ""
    timeouts = MORE if b"Hello" in start else FIRST
    async with busy_server(SSE, start, repeated) as address, client_of(model, address, timeouts) as client:
        try:
            async for item in client.stream(HI):
                text += getattr(item, "text", "")
        except TimeoutError as error:
            return text, error
    pytest.fail("The stream ended.")


async def test_every_piece_of_content_begins_the_time_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: list[ContentTimer] = []
    restart = ContentTimer.content_arrived

    def content_arrived(timer: ContentTimer) -> None:
        arrived.append(timer)
        restart(timer)

    monkeypatch.setattr(ContentTimer, "content_arrived", content_arrived)
    call = {"type": "tool_use", "id": "t", "name": "add", "input": {}}
    start = CLAUDE_START + CLAUDE_TEXT + event(type="content_block_start", index=1, content_block=call)
    for piece in ('{"a":', "", "1}"):
        delta = {"type": "input_json_delta", "partial_json": piece}
        start += event(type="content_block_delta", index=1, delta=delta)

    await streamed("claude:m", start, PING)

    assert len(arrived) == 3


@pytest.mark.parametrize("model", BUSY)
@pytest.mark.parametrize("kind", ["", "application/json"], ids=["before the headers", "in the body"])
async def test_an_answer_that_is_not_streamed_has_a_time_for_all_of_it(model: str, kind: str) -> None:
    async with (
        busy_server(kind, b"", SPACE) as address,
        asyncio.timeout(60),
        client_of(model, address) as client,
    ):
        with pytest.raises(TimeoutError, match=r"sent nothing of an answer within 0.4 s"):
            await client.run(HI)


@pytest.mark.parametrize(
    ("written", "timeouts"),
    [
        ({}, Timeouts(10, 600, 300)),
        ({"request_timeout": "2m"}, Timeouts(10, 120, 120, ("first_content", "between_content"))),
        (
            {"request_timeout": "20m", "between_content_timeout": "30s"},
            Timeouts(10, 1200, 30, ("first_content",)),
        ),
        ({"connect_timeout": 3, "first_content_timeout": "45s"}, Timeouts(3, 45, 300)),
    ],
)
def test_the_limits_are_settings(written: dict[str, Any], timeouts: Timeouts) -> None:
    sources = {f"agent.{name}": "a file" for name in written}

    assert resolve(AgentConfig(**written, sources=sources), environ={}).timeouts == timeouts


@pytest.mark.parametrize(
    ("model", "settings", "options", "seconds"),
    [
        ("claude:m", {}, {}, None),
        ("openai:m", {}, {}, None),
        ("claude:m", {"request_timeout": 600}, {}, 600),
        ("openai:m", {"request_timeout": "20m"}, {"request_timeout": 5}, 5),
        ("offline:", {}, {}, 600),
    ],
)
def test_a_streamed_answer_may_take_its_time_while_content_comes_unless_a_limit_was_set(
    model: str, settings: dict[str, Any], options: dict[str, Any], seconds: float | None
) -> None:
    written = AgentConfig(**settings, sources={f"agent.{name}": "a file" for name in settings})

    key: dict[str, Any] = {} if model == "offline:" else {"api_key": "made-up"}
    client = connect(model, settings=written, **key, **options)

    assert client.defaults.request_timeout == seconds


async def test_a_run_tries_again_after_an_answer_that_stalls_and_says_so() -> None:
    agent = AgentDefinition(
        name="a", description="A.", run_config=RunConfig(max_retries=1, retry_delay=0.001)
    )
    async with (
        busy_server(SSE, CLAUDE_START + CLAUDE_TEXT, PING) as address,
        asyncio.timeout(60),
        client_of("claude:m", address, MORE) as client,
    ):
        events = [event async for event in AgentExecutor(client).stream(agent, inputs={"prompt": "hi"})]

    assert [event.attempt for event in events if isinstance(event, RetryScheduled)] == [2]
    assert isinstance(events[-1], RunEnd)
    assert "sent no more of its answer" in str(events[-1].result.error)


@pytest.mark.parametrize("name", ["connect", "first_content", "between_content"])
@pytest.mark.parametrize("seconds", [0, -1.5, float("nan")])
def test_a_time_that_is_none_is_refused(name: str, seconds: float) -> None:
    given: dict[str, Any] = {name: seconds}
    with pytest.raises(InvalidInputError, match=rf"timeouts\.{name}: expected seconds above 0"):
        Timeouts(**given)


def test_the_error_names_the_timeout_that_is_to_be_raised() -> None:
    timer = ContentTimer("here", FIRST)
    assert str(timer.expired()).endswith("within 0.4 s. Try again, or raise the timeout (first_content).")
    timer.content_arrived()
    assert str(timer.expired()).endswith("within 60 s. Try again, or raise the timeout (between_content).")


@pytest.mark.requirement("002-R9")
@pytest.mark.parametrize(
    ("setting", "named"),
    [("request_timeout", "request_timeout"), ("first_content_timeout", "first_content")],
)
async def test_the_error_names_the_setting_that_was_given(setting: str, named: str) -> None:
    given: dict[str, Any] = {setting: 0.3}
    written = AgentConfig(**given, sources={f"agent.{setting}": "a file"})
    async with (
        ClaudeServer() as server,
        connect("claude:m", api_key="k", base_url=server.at("hang"), settings=written) as client,
    ):
        with pytest.raises(TimeoutError) as raised:
            await client.run(HI)

    assert f"raise the timeout ({named})" in str(raised.value)
