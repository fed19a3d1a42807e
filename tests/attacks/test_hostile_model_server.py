"""A model server that never ends, inflates or repeats the key: bounded memory, typed errors, limits that hold."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import PIPE

import pytest

from canary import CANARY
from maverick import AgentDefinition, AgentExecutor, RunConfig, connect
from maverick.exceptions import MalformedResponseError
from maverick.journal import SqliteJournal
from maverick.loop.events import RunEnd
from maverick.loop.result import TerminateReason
from maverick.model import Message, Request
from warm_start import Script
from wire.tcp_server import tcp_server

ASKED = Request(messages=[Message.user("hi")])
STREAM = "text/event-stream"
MB = 1024 * 1024

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(kind: str, answer: Answer) -> AsyncIterator[str]:
    """A server that reads each request and lets ``answer`` write whatever it likes as the body."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = head.partition("content-length:")[2].split()[0]
            await reader.readexactly(int(length))
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nrequest-id: {CANARY}\r\n\r\n".encode())
            await answer(writer)
            await writer.drain()

    async with tcp_server(serve) as address:
        yield f"http://{address}"


def event(**fields: object) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


def endless(once: bytes, again: bytes, *, most: int = 400 * MB) -> Answer:
    """Sends the first bytes, and then the others over and over, as fast as they are taken."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(once)
        piece = again * max(MB // 4 // len(again), 1)
        for _ in range(most // len(piece)):
            writer.write(piece)
            await writer.drain()

    return answer


def all_blocks() -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(START)
        for index in range(2_000_000):
            writer.write(
                event(type="content_block_start", index=index, content_block={"type": "text", "text": ""})
            )
            if index % 1000 == 0:
                await writer.drain()

    return answer


def delta(kind: str, **fields: str) -> bytes:
    return event(type="content_block_delta", index=0, delta={"type": kind, **fields})


START = event(type="message_start", message={"model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}})
TEXT = START + event(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
TOOL = START + event(
    type="content_block_start", index=0, content_block={"type": "tool_use", "id": "1", "name": "t"}
)

HOSTILE = {
    "words": (STREAM, endless(TEXT, delta("text_delta", text="€"))),
    "long words": (STREAM, endless(TEXT, delta("text_delta", text="w" * 50_000))),
    "thoughts": (STREAM, endless(TEXT, delta("thinking_delta", thinking="hm"))),
    "arguments": (STREAM, endless(TOOL, delta("input_json_delta", partial_json="[{},{},{}," * 100))),
    "blocks": (STREAM, all_blocks()),
    "pings": (STREAM, endless(START, event(type="ping"))),
    "a line": (STREAM, endless(START + b"data: ", b"x")),
    "empty lines": (STREAM, endless(START, b"\n")),
    "a body": ("application/json", endless(b'{"content":[', b'{"type":"a"},')),
    "an object": ("application/json", endless(b'{"content":[{"type":"tool_use","input":[', b"{},")),
}


@pytest.mark.requirement("P8")
@pytest.mark.parametrize("name", HOSTILE)
async def test_an_answer_without_end_is_refused_before_it_fills_the_memory(name: str) -> None:
    kind, answer = HOSTILE[name]

    async with server(kind, answer) as base_url:
        with Script("attacks.flooded", base_url, kind, stdout=PIPE) as victim:
            output, _ = await asyncio.to_thread(victim.communicate, timeout=120)

    assert int(output or -1) * 1024 in range((4 + 64) * MB)  # nothing is printed unless it was refused


@pytest.mark.requirement("P4")
async def test_a_server_that_floods_does_not_keep_a_run_from_ending_in_time() -> None:
    agent = AgentDefinition(name="a", description="d", run_config=RunConfig(timeout_ms=3000))
    flood = endless(TEXT, delta("text_delta", text="w"), most=4000 * MB)

    async with (
        server(STREAM, flood) as base_url,
        connect("claude:m", api_key="k", base_url=base_url, max_answer_bytes=4000 * MB) as client,
    ):
        before = time.monotonic()
        result = await AgentExecutor(client).execute(agent, inputs={"prompt": "hi"})
        took = time.monotonic() - before

    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert took < 30  # it sends for minutes; the second that is promised is measured by the benchmark


async def test_the_bound_of_an_answer_is_a_setting() -> None:
    async with (
        server(STREAM, endless(TEXT, delta("text_delta", text="w" * 1000))) as base_url,
        connect("claude:m", api_key="k", base_url=base_url, max_answer_bytes=MB) as client,
    ):
        with pytest.raises(MalformedResponseError, match=r"more than 1,048,576 bytes.*max_answer_bytes"):
            async for _ in client.stream(ASKED):
                pass


ECHOES = {
    "whole": TEXT + delta("text_delta", text=f"your key is {CANARY}"),
    "in pieces": TEXT + delta("text_delta", text=CANARY[:20]) + delta("text_delta", text=CANARY[20:]),
    "escaped": TEXT + delta("text_delta", text=CANARY).replace(b"sk-ant-", b"\\u0073k-ant-"),
    "in arguments": TOOL + delta("input_json_delta", partial_json=json.dumps({"a": [{"b": CANARY}]})),
}
END = event(type="message_delta", delta={"stop_reason": "end_turn"}) + event(type="message_stop")


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("cut", [False, True], ids=["complete", "cut off"])
async def test_a_key_that_a_server_repeats_is_in_no_answer_no_error_and_no_journal(
    echo: str, cut: bool, tmp_path: Path
) -> None:
    agent = AgentDefinition(name="a", description="d", run_config=RunConfig(max_retries=0, max_turns=1))

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(ECHOES[echo] + (b"" if cut else END))

    async with (
        server(STREAM, answer) as base_url,
        connect("claude:m", api_key=CANARY, base_url=base_url) as client,
        SqliteJournal(tmp_path / "runs.db") as journal,
    ):
        executor = AgentExecutor(client, journal=journal)
        events = [event async for event in executor.stream(agent, inputs={"prompt": "hi"})]

    end = events[-1]
    assert isinstance(end, RunEnd)
    assert CANARY not in repr(end) + "".join(repr(vars(error)) for error in end.result.errors)
    assert CANARY not in repr(events) or echo == "escaped"  # what only passes by is not taken apart
    assert CANARY.encode() not in (tmp_path / "runs.db").read_bytes()


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("body", [f"<p>{CANARY}</p>", json.dumps({"type": "x", "echo": CANARY})])
async def test_a_key_in_a_page_is_not_in_raw_response(body: str) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(body.encode())

    async with (
        server("text/html", answer) as base_url,
        connect("claude:m", api_key=CANARY, base_url=base_url) as client,
    ):
        with pytest.raises(MalformedResponseError) as caught:
            await client.run(ASKED)

    assert CANARY not in caught.value.raw_response + str(caught.value)
    assert "***" in caught.value.raw_response
