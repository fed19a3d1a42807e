"""A run that is out of turns or time, or is stopped by somebody, ends at once with what there is."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator

import pytest

from maverick import AbortSignal, AgentExecutor, TerminateReason, tool
from maverick.exceptions import AbortedError, ErrorKind, LimitExceededError, NetworkError, RateLimitError
from maverick.exceptions import TimeoutError as OurTimeoutError
from maverick.loop import ToolOutcome
from maverick.loop.events import ContentChunk, RetryScheduled, RunEnd, ToolCallStart
from maverick.model import Request, Response, StreamItem, ToolCall, Usage
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent, assert_valid, results_in, run, watch

PATIENCE = 10
"""Seconds after which a test that hangs is given up."""


@tool
async def work() -> str:
    """Work."""
    return "done"


@tool
async def hang() -> None:
    """Never return."""
    await asyncio.Event().wait()


def no_task_is_left() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.requirement("003-FR2-AC1", "003-G2")
async def test_the_run_ends_after_max_turns_with_every_call_answered() -> None:
    client = ScriptedClient(lambda _: ["Working.", call("work")])

    result = await run(client, agent(work, max_turns=3))

    assert (result.success, result.terminate_reason) == (False, TerminateReason.MAX_TURNS)
    assert (result.turn_count, len(client.requests)) == (3, 3)
    assert result.raw_content == "Working."
    assert results_in(result.messages) == ["done"] * 3
    error = result.errors[0]
    assert isinstance(error, LimitExceededError)
    assert error.limit == "max_turns"
    assert "raise RunConfig.max_turns" in str(error)


@pytest.mark.requirement("003-FR2-AC1")
async def test_an_answer_in_the_last_turn_is_an_answer() -> None:
    result = await run([call("work"), "Done."], agent(work, max_turns=2))

    assert (result.success, result.output) == (True, "Done.")


@pytest.mark.requirement("003-FR2-AC2", "003-ERR-TIMEOUT", "002-R4-TIMEOUT", "002-R6", "P4")
async def test_a_model_that_does_not_answer_is_left_at_the_timeout_with_its_words_so_far() -> None:
    script = [
        calls(call("work"), usage=Usage(10, 5)),
        reply("One two three", chunks=["One ", "two ", "three"], pace=30),
    ]
    began = time.monotonic()

    watched = await watch(script, agent(work, timeout_ms=100))

    result = watched.result
    assert time.monotonic() - began < PATIENCE
    assert (result.success, result.terminate_reason) == (False, TerminateReason.TIMEOUT)
    assert result.raw_content == "One "
    assert result.messages[-1].content == "One "
    assert result.usage.input_tokens > 10  # the answer that had begun is charged too, by estimate
    assert isinstance(result.errors[0], OurTimeoutError)
    assert result.errors[0].kind is ErrorKind.TIMEOUT
    assert "0.1 s" in str(result.error)
    assert no_task_is_left()


@pytest.mark.requirement("003-FR2-AC2", "003-ERR-TIMEOUT", "P3", "P4")
async def test_tools_that_do_not_return_are_cut_short_at_the_timeout() -> None:
    async with asyncio.timeout(PATIENCE):
        result = await run([calls(call("work"), call("hang")), "never"], agent(work, hang, timeout_ms=100))

    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED, ToolOutcome.CANCELLED]
    assert "may or may not have taken effect" in results_in(result.messages)[1]
    assert_valid(result.messages)
    assert no_task_is_left()


@pytest.mark.requirement("003-FR2-AC3", "P4")
async def test_a_signal_that_was_aborted_before_the_run_stops_it_before_the_model_is_called() -> None:
    signal = AbortSignal()
    signal.abort("not today")
    client = ScriptedClient(["never"])

    result = await run(client, agent(), signal=signal)

    assert (result.success, result.terminate_reason) == (False, TerminateReason.ABORTED)
    assert isinstance(result.errors[0], AbortedError)
    assert result.errors[0].reason == "not today"
    assert client.requests == []


@pytest.mark.requirement("003-FR2-AC3", "002-R6", "P4")
async def test_abort_during_a_model_call_keeps_the_words_so_far() -> None:
    signal = AbortSignal()
    client = ScriptedClient([reply("One two", chunks=["One ", "two"], pace=30)])

    def stop_at_first_word(event: object) -> None:
        if isinstance(event, ContentChunk):
            signal.abort("enough")

    async with asyncio.timeout(PATIENCE):
        result = await AgentExecutor(client).execute(agent(), signal=signal, on_activity=stop_at_first_word)

    assert result.terminate_reason is TerminateReason.ABORTED
    assert result.raw_content == "One "
    assert "enough" in str(result.error)
    assert no_task_is_left()


@pytest.mark.requirement("003-FR2-AC3", "P4")
async def test_abort_ends_the_wait_before_a_retry() -> None:
    signal = AbortSignal()
    client = ScriptedClient([RateLimitError("Slow down.", retry_after=30), "never"])

    def stop(event: object) -> None:
        if isinstance(event, RetryScheduled):
            signal.abort()

    async with asyncio.timeout(PATIENCE):
        result = await AgentExecutor(client).execute(agent(), signal=signal, on_activity=stop)

    assert result.terminate_reason is TerminateReason.ABORTED
    assert len(client.requests) == 1


@pytest.mark.requirement("003-FR2-AC3", "P3", "P4")
async def test_abort_while_tools_run_cancels_them_and_each_has_its_result() -> None:
    signal = AbortSignal()
    started: list[str] = []

    def stop_at_third_tool(event: object) -> None:
        if isinstance(event, ToolCallStart):
            started.append(event.tool_call.id)
            if len(started) == 3:
                signal.abort()

    client = ScriptedClient([calls(call("work"), call("hang"), call("hang")), "never"])
    async with asyncio.timeout(PATIENCE):
        result = await AgentExecutor(client).execute(
            agent(work, hang), signal=signal, on_activity=stop_at_third_tool
        )

    assert result.terminate_reason is TerminateReason.ABORTED
    assert [record.outcome for record in result.tool_calls][1:] == [ToolOutcome.CANCELLED] * 2
    assert_valid(result.messages)
    assert no_task_is_left()


@pytest.mark.requirement("003-FR2-AC3", "P4")
async def test_a_run_can_be_stopped_from_another_thread() -> None:
    signal = AbortSignal()
    threading.Timer(0.05, signal.abort, ["from afar"]).start()

    async with asyncio.timeout(PATIENCE):
        result = await run([call("hang"), "never"], agent(hang), signal=signal)

    assert (result.terminate_reason, str(result.error)) == (
        TerminateReason.ABORTED,
        "The run was stopped: from afar.",
    )


@pytest.mark.requirement("003-FR2-AC3")
async def test_one_signal_stops_all_the_runs_it_was_given_to() -> None:
    signal = AbortSignal()
    running = [asyncio.create_task(run([call("hang")], agent(hang), signal=signal)) for _ in range(3)]
    bystander = asyncio.create_task(run([call("hang")], agent(hang, timeout_ms=300)))
    await asyncio.sleep(0.05)

    signal.abort("all of you")
    signal.abort("again")

    async with asyncio.timeout(PATIENCE):
        results = await asyncio.gather(*running)
        other = await bystander
    assert {result.terminate_reason for result in results} == {TerminateReason.ABORTED}
    assert {str(result.error) for result in results} == {"The run was stopped: all of you."}
    assert other.terminate_reason is TerminateReason.TIMEOUT


@pytest.mark.requirement("P4")
async def test_a_signal_that_is_aborted_after_the_run_changes_nothing() -> None:
    signal = AbortSignal()
    result = await run(["Done."], agent(), signal=signal)

    signal.abort()
    await asyncio.sleep(0)

    assert result.success
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.requirement("002-AC10", "002-R6", "P4")
async def test_cancelling_the_task_of_a_run_stops_its_tools_and_is_told_as_an_abort() -> None:
    stopped = asyncio.Event()
    events: list[object] = []

    @tool
    async def wait() -> None:
        """Wait until cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    client = ScriptedClient([call("wait"), "never"])
    task = asyncio.create_task(AgentExecutor(client).execute(agent(wait), on_activity=events.append))
    await asyncio.sleep(0.02)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped.is_set()
    last = events[-1]
    assert isinstance(last, RunEnd)
    assert last.result.terminate_reason is TerminateReason.ABORTED
    assert_valid(last.result.messages)
    assert no_task_is_left()


@pytest.mark.requirement("P4")
async def test_a_tool_that_ignores_its_cancellation_does_not_hold_up_the_end_of_the_run() -> None:
    release = asyncio.Event()

    @tool
    async def stubborn() -> None:
        """Do not stop."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    began = time.monotonic()
    result = await run([call("stubborn"), "never"], agent(stubborn, timeout_ms=50))

    assert time.monotonic() - began < PATIENCE
    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert result.tool_calls[0].outcome is ToolOutcome.CANCELLED
    release.set()


@pytest.mark.requirement("P4", "P3")
async def test_a_blocking_tool_does_not_hold_up_the_end_of_the_run() -> None:
    release = threading.Event()

    @tool
    def block() -> str:
        """Block."""
        release.wait(PATIENCE)
        return "late"

    began = time.monotonic()
    result = await run([call("block"), "never"], agent(block, timeout_ms=50))
    took = time.monotonic() - began
    release.set()

    assert took < PATIENCE / 2
    assert result.terminate_reason is TerminateReason.TIMEOUT
    assert "late" not in str(result.messages)


class MasksCancellation:
    """A client that makes an error of its own out of being cancelled."""

    async def run(self, request: Request) -> Response:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise NetworkError("The connection was closed.") from None
        raise AssertionError

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield await self.run(request)


@pytest.mark.requirement("P4", "002-R6")
@pytest.mark.parametrize("aborted", [True, False], ids=["abort", "timeout"])
async def test_a_client_that_hides_its_cancellation_changes_neither_the_end_nor_the_callers_task(
    aborted: bool,
) -> None:
    signal = AbortSignal()
    if aborted:
        asyncio.get_running_loop().call_later(0.05, signal.abort)

    async with asyncio.timeout(PATIENCE):
        result = await AgentExecutor(MasksCancellation()).execute(
            agent(timeout_ms=10_000 if aborted else 50), signal=signal
        )

    expected = TerminateReason.ABORTED if aborted else TerminateReason.TIMEOUT
    assert result.terminate_reason is expected
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.requirement("P4", "002-R8-RETRY")
async def test_a_retry_that_could_not_come_in_time_is_not_waited_for() -> None:
    began = time.monotonic()

    result = await run([RateLimitError("Slow down.", retry_after=3600)], agent(timeout_ms=60_000))

    assert time.monotonic() - began < PATIENCE
    assert result.terminate_reason is TerminateReason.ERROR
    assert isinstance(result.errors[0], RateLimitError)


@pytest.mark.requirement("P4")
async def test_a_client_that_never_waits_is_not_asked_again_once_the_run_is_stopped() -> None:
    signal = AbortSignal()
    asked = 0

    class Hasty:
        async def run(self, _: Request) -> Response:
            nonlocal asked
            asked += 1
            signal.abort()
            return Response("", [ToolCall(f"c{asked}", "no_such_tool", {})], Usage(1, 1))

        async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
            yield await self.run(request)

    result = await AgentExecutor(Hasty()).execute(agent(), signal=signal)

    assert (result.terminate_reason, asked) == (TerminateReason.ABORTED, 1)
