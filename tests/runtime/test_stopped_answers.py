"""What had arrived of an answer when its run was stopped is kept, whether anybody watches the run or not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from canary import CANARY
from maverick import AbortSignal, AgentExecutor, Hooks, ModelConfig, TerminateReason, ToolContext, connect
from maverick.exceptions import AbortedError, ServerError, StreamingError, StreamTimeoutError, TimeoutError
from maverick.journal import MemoryJournal
from maverick.loop.events import RunEnd
from maverick.model import Message, Request, Response, StreamItem, TextDelta
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

    (error,) = running.result().errors
    assert running.result().terminate_reason is TerminateReason.ABORTED
    assert running.result().raw_content == "Once upon "
    assert isinstance(error, AbortedError)
    assert error.partial_messages == [Message.assistant("Once upon ")]


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

    (error,) = running.result().errors
    assert running.result().terminate_reason is TerminateReason.TIMEOUT
    assert running.result().raw_content == "Once upon "
    assert isinstance(error, StreamTimeoutError)
    assert error.partial_messages == [Message.assistant("Once upon ")]
    assert "raise RunConfig(timeout=…)" in str(error)


class Cut(Client):
    """Begins to answer and breaks off, as often as it is told; then it answers."""

    def __init__(self, failures: int, said: str = "Once upon ") -> None:
        self.failures = failures
        self.said = said

    async def run(self, request: Request) -> Response:
        if self.failures == 0:
            return Response("The end.")
        self.failures -= 1
        raise StreamingError("It broke off.", partial_messages=[Message.assistant(self.said)])

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield await self.run(request)


class Reader(Hooks):
    """Has to see each answer."""

    async def after_model(self, response: Response, ctx: ToolContext, /) -> None:
        """Let it pass."""


@pytest.mark.requirement("003-ERR-TIMEOUT")
async def test_the_words_of_an_answer_that_breaks_off_are_kept_and_dropped_when_it_is_resumed() -> None:
    journal, definition = MemoryJournal(), agent(max_retries=0)
    executor = AgentExecutor(Cut(1), journal=journal)

    failed = await executor.execute(definition, run_id="tale")
    *_, end = [event async for event in executor.replay("tale", definition)]
    resumed = await executor.resume("tale", definition)

    assert failed.terminate_reason is TerminateReason.ERROR
    assert failed.raw_content == failed.messages[-1].content == "Once upon "
    assert isinstance(end, RunEnd)
    assert end.result.raw_content == "Once upon "
    assert resumed.output == "The end."
    assert "Once upon " not in [message.content for message in resumed.messages]


async def test_the_words_of_an_attempt_that_is_made_again_are_not_kept() -> None:
    result = await AgentExecutor(Cut(1)).execute(agent(max_retries=1))

    assert (result.output, len(result.messages)) == ("The end.", 2)


class Failing(Client):
    """Begins to answer and fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def run(self, request: Request) -> Response:
        raise self.error

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield TextDelta("Once upon ")
        yield TextDelta(f"a time: API_KEY={CANARY} ")
        raise self.error


@pytest.mark.requirement("003-ERR-TIMEOUT", "P9")
@pytest.mark.parametrize(
    "error",
    [TimeoutError("It stalled."), ServerError("It is overloaded."), ValueError("a fault of the client")],
)
async def test_the_words_so_far_are_kept_without_secrets_whatever_the_client_raises(error: Exception) -> None:
    definition = agent(max_retries=0)

    kept = await AgentExecutor(Failing(error)).execute(definition)
    unseen = await AgentExecutor(Failing(error), hooks=[Reader()]).execute(definition)

    assert kept.terminate_reason is TerminateReason.ERROR
    assert kept.raw_content == kept.messages[-1].content == "Once upon a time: API_KEY=[redacted] "
    assert unseen.raw_content == ""


@pytest.mark.requirement("003-ERR-TIMEOUT")
async def test_the_words_so_far_are_kept_when_the_time_of_the_model_call_is_up() -> None:
    definition = agent(model=ModelConfig(request_timeout=0.1), max_retries=0)

    async with asyncio.timeout(PATIENCE):
        result = await AgentExecutor(Unfinished()).execute(definition)

    (error,) = result.errors
    assert isinstance(error, StreamTimeoutError)
    assert error.partial_messages == [Message.assistant("Once upon ")]
    assert "raise request_timeout" in str(error)
    assert result.raw_content == result.messages[-1].content == "Once upon "


@pytest.mark.requirement("P9")
async def test_secrets_in_the_words_so_far_are_hidden_and_words_that_no_hook_has_seen_are_not_kept() -> None:
    said = f"Once upon a time: API_KEY={CANARY} "
    failed = await AgentExecutor(Cut(1, said)).execute(agent(max_retries=0))
    unseen = await AgentExecutor(Cut(1), hooks=[Reader()]).execute(agent(max_retries=0))
    async with asyncio.timeout(PATIENCE):
        late = await AgentExecutor(Unfinished(), hooks=[Reader()]).execute(agent(timeout_ms=100))

    assert failed.raw_content == "Once upon a time: API_KEY=[redacted] "
    assert (unseen.raw_content, late.raw_content) == ("", "")
    assert isinstance(unseen.errors[0], StreamingError)
    assert unseen.errors[0].partial_messages == []
    assert late.terminate_reason is TerminateReason.TIMEOUT
    assert not isinstance(late.errors[0], StreamingError)


async def test_the_words_so_far_are_kept_when_the_connection_closes_whatever_the_time_left() -> None:
    async with (
        ClaudeServer() as server,
        connect("claude:claude-sonnet-5-5", api_key="k", base_url=server.at("cut")) as client,
    ):
        results = [
            await AgentExecutor(client).execute(agent(**limits))
            for limits in ({"max_retries": 0}, {"timeout_ms": 60_000}, {"timeout": 20.0, "retry_delay": 59.0})
        ]

    for result in results:
        assert result.terminate_reason is TerminateReason.ERROR
        assert result.raw_content
        assert HELLO.startswith(result.raw_content)


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
