"""A run as an iterator of events; leaving it stops the run."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from maverick import AbortSignal, AgentExecutor, tool
from maverick.exceptions import InvalidInputError, MalformedResponseError
from maverick.loop.events import ContentChunk, RunEnd, Thinking, ToolCallStart, TurnEnd
from maverick.model import LLMClient, Request, Response
from maverick.providers.scripted import Script
from maverick.providers.wrappers.fallback import FallbackClient
from maverick.providers.wrappers.limiter import LimitedClient, RateLimiter
from maverick.testing import ScriptedClient, call, reply
from scenario import agent, watch

PATIENCE = 10
"""Seconds after which a test that hangs is given up."""


@tool
async def work() -> str:
    """Work."""
    return "done"


def make_hanging_tool() -> tuple[Any, asyncio.Event]:
    """A tool that never returns, and the event that tells it was stopped."""
    stopped = asyncio.Event()

    @tool
    async def hang() -> None:
        """Never return."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    return hang, stopped


@pytest.mark.requirement("F-STREAM", "003-G3")
async def test_a_stream_yields_what_a_listener_is_told_and_the_result_at_its_end() -> None:
    script: Script = [call("work"), "Done."]
    watched = await watch(script, agent(work))

    events = [event async for event in AgentExecutor(ScriptedClient(script)).stream(agent(work))]

    assert [event.type for event in events] == watched.types
    last = events[-1]
    assert isinstance(last, RunEnd)
    assert last.result.output == "Done."


class OneTurn:
    """A client with ``run()`` and nothing else."""

    def __init__(self, script: Script) -> None:
        self._scripted = ScriptedClient(script)

    async def run(self, request: Request) -> Response:
        return await self._scripted.run(request)


@pytest.mark.requirement("002-R1", "F-STREAM", "003-FR3-AC4")
@pytest.mark.parametrize(
    "wrap",
    [
        pytest.param(lambda client: client, id="alone"),
        pytest.param(lambda client: FallbackClient([client]), id="among others"),
        pytest.param(lambda client: LimitedClient(client, RateLimiter(concurrency=1)), id="limited"),
    ],
)
async def test_the_answer_of_a_client_that_cannot_stream_comes_as_one_piece(
    wrap: Callable[[Any], LLMClient],
) -> None:
    client = wrap(OneTurn([call("work"), reply("All of it is done.", thinking="Done, is it?")]))

    events = [event async for event in AgentExecutor(client).stream(agent(work, timeout_ms=60_000))]

    assert [event.content for event in events if isinstance(event, ContentChunk)] == ["All of it is done."]
    assert [event.content for event in events if isinstance(event, Thinking)] == ["Done, is it?"]
    assert isinstance(events[-1], RunEnd)
    assert events[-1].result.output == "All of it is done."


@pytest.mark.requirement("002-R1", "P8")
async def test_a_client_that_cannot_stream_and_returns_no_response_is_told_so() -> None:
    class Wrong:
        async def run(self, _: Request) -> str:
            return "Hello!"

    wrong: Any = Wrong()
    result = await AgentExecutor(wrong).execute(agent(), on_activity=lambda _: None)

    assert isinstance(result.errors[0], MalformedResponseError)
    assert "returned a str in place of a Response" in str(result.error)


@pytest.mark.requirement("F-STREAM", "003-FR2-AC3")
async def test_a_run_is_stopped_by_its_signal_while_its_events_are_read() -> None:
    signal = AbortSignal()
    client = ScriptedClient(lambda _: call("work"))
    turns = 0

    async with asyncio.timeout(PATIENCE):
        async for event in AgentExecutor(client).stream(agent(work), signal=signal):
            if isinstance(event, TurnEnd):
                turns = event.turn_number
                if turns == 4:
                    signal.abort("enough")
            if isinstance(event, RunEnd):
                assert "enough" in str(event.result.error)

    assert 4 <= turns < 50


@pytest.mark.requirement("F-STREAM", "P4")
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "left"])
async def test_leaving_the_iteration_stops_the_run_and_leaves_no_task(closed: bool) -> None:
    hang, stopped = make_hanging_tool()
    executor = AgentExecutor(ScriptedClient([call("hang"), "never"]))

    async with asyncio.timeout(PATIENCE):
        if closed:
            async with aclosing(executor.stream(agent(hang))) as events:
                async for event in events:
                    if isinstance(event, ToolCallStart):
                        break
        else:
            async for event in executor.stream(agent(hang)):
                if isinstance(event, ToolCallStart):
                    break
            gc.collect()
        await stopped.wait()
        if ending := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(ending)

    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.requirement("F-STREAM", "002-AC10")
async def test_cancelling_the_reader_stops_the_run() -> None:
    hang, stopped = make_hanging_tool()

    async def read() -> None:
        async for _ in AgentExecutor(ScriptedClient([call("hang")])).stream(agent(hang)):
            pass

    reader = asyncio.create_task(read())
    await asyncio.sleep(0.02)
    reader.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reader
    assert stopped.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_reader_that_raises_stops_the_run() -> None:
    hang, stopped = make_hanging_tool()

    async def read() -> None:
        async with aclosing(AgentExecutor(ScriptedClient([call("hang")])).stream(agent(hang))) as events:
            async for event in events:
                if event.type == "tool_call_start":
                    raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="the screen is gone"):
        await read()
    assert stopped.is_set()


async def test_a_slow_reader_misses_nothing() -> None:
    client = ScriptedClient([reply(" ".join(str(number) for number in range(200)))])
    heard = []

    async for event in AgentExecutor(client).stream(agent()):
        await asyncio.sleep(0)
        heard.append(event.type)

    assert heard.count("content_chunk") == 200
    assert heard[-1] == "run_end"


async def test_wrong_input_is_raised_to_the_reader() -> None:
    with pytest.raises(InvalidInputError, match="nonsense"):
        async for _ in AgentExecutor(ScriptedClient([])).stream(agent(), inputs={"nonsense": 1}):
            pass
