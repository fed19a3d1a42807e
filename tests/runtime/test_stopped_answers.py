"""What had arrived of an answer when its run was stopped is kept, whether anybody watches the run or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from maverick import AbortSignal, AgentExecutor, TerminateReason, connect
from maverick.model import Request, Response, StreamItem, TextDelta
from maverick.providers.client import Client
from scenario import agent
from wire.claude_server import HELLO, ClaudeServer

PATIENCE = 30
"""Seconds after which a test that hangs is given up."""

pytestmark = pytest.mark.requirement("P4")


class Unfinished(Client):
    """Begins to answer and does not go on; asked for a whole answer, it gives one."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.asked: list[str] = []

    async def run(self, request: Request) -> Response:
        self.asked.append("whole")
        return Response("All at once.")

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self.asked.append("streamed")
        yield TextDelta("Once upon ")
        self.began.set()
        await asyncio.Event().wait()


async def test_a_timeout_keeps_the_words_so_far_of_a_run_that_nobody_watches() -> None:
    async with asyncio.timeout(PATIENCE):
        result = await AgentExecutor(Unfinished()).execute(agent(timeout_ms=100))

    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert result.raw_content == "Once upon "
    assert result.messages[-1].content == "Once upon "


async def test_an_abort_keeps_the_words_so_far_of_a_run_that_nobody_watches() -> None:
    client, signal = Unfinished(), AbortSignal()

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(AgentExecutor(client).execute(agent(), signal=signal))
        await client.began.wait()
        signal.abort("enough")

    assert running.result().terminate_reason is TerminateReason.ABORTED
    assert running.result().raw_content == "Once upon "


@pytest.mark.requirement("003-ERR-TIMEOUT")
async def test_the_words_so_far_are_kept_however_much_time_was_left_when_the_answer_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Unfinished()
    loop = asyncio.get_running_loop()

    async with asyncio.timeout(3_600 + PATIENCE), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(AgentExecutor(client).execute(agent(timeout_ms=3_600_000)))
        await client.began.wait()
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + 3_600)

    assert running.result().terminate_reason is TerminateReason.TIMEOUT
    assert running.result().raw_content == "Once upon "


async def test_an_answer_that_nothing_can_cut_off_is_asked_for_as_a_whole() -> None:
    client = Unfinished()

    result = await AgentExecutor(client).execute(agent(timeout_ms=None))

    assert result.output == "All at once."
    assert client.asked == ["whole"]


async def test_the_words_so_far_come_from_the_wire() -> None:
    async with ClaudeServer() as server, asyncio.timeout(PATIENCE):
        async with connect("claude:claude-test", base_url=server.at("stall"), api_key="key") as client:
            result = await AgentExecutor(client).execute(agent(timeout_ms=2_000))
        await server.dropped.wait()

    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert result.raw_content
    assert HELLO.startswith(result.raw_content)
