"""A run that is handed over is left at its next write point, and is the same run when another process resumes it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from operator import eq
from typing import Any

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from maverick import (
    AbortSignal,
    AgentDefinition,
    AgentExecutor,
    ApprovalRequest,
    ModelConfig,
    ToolContext,
    tool,
)
from maverick.exceptions import NetworkError, RateLimitError, RunHandedOverError
from maverick.journal import Journal, MemoryJournal, RunStatus
from maverick.journal.codec import encode_entry
from maverick.loop.entries import Resumed, RunStarted, ToolFinished
from maverick.model import Request
from maverick.providers.wrappers import LimitedClient, RateLimiter
from maverick.telemetry import instrument, uninstrument
from maverick.testing import ScriptedClient, call, calls
from scenario import agent, run

PATIENCE = 10
"""Seconds after which a test that hangs is given up."""


class Office:
    """An agent with a subagent and irreversible tools, where a signal can be given at every moment of a run."""

    def __init__(self, moment: Callable[[], None]) -> None:
        self.done: Counter[str] = Counter()
        self._failed: set[int] = set()
        self._moment = moment

        @tool
        async def send(to: str, ctx: ToolContext) -> str:
            """Send a letter."""
            moment()
            await asyncio.sleep(0)
            self.done[ctx.idempotency_key] += 1
            moment()
            return f"sent to {to}"

        @tool(sequential=True)
        async def stamp(ctx: ToolContext) -> str:
            """Stamp the letters, after everything before it."""
            moment()
            self.done[ctx.idempotency_key] += 1
            return "stamped"

        helper = agent(send, name="helper", ask="Help.")
        self.chief: AgentDefinition[Any] = agent(send, stamp, helper.as_tool(), ask="Lead.")

    def answer(self, request: Request) -> Any:
        self._moment()
        turn = sum(message.role == "assistant" for message in request.messages)
        if request.messages[0].content == "Help.":
            return call("send", to=f"helped {turn}") if turn < 2 else "Helped."
        if turn == 2 and turn not in self._failed:
            self._failed.add(turn)
            return RateLimitError("Too fast.", retry_after=0.001)
        script = [
            calls(call("send", to="ana"), call("send", to="ben")),
            calls(call("stamp"), call("helper"), call("send", to="cem"), call("helper")),
            call("send", to="dee"),
        ]
        return script[turn] if turn < len(script) else "Done."

    def executor(self, journal: Journal) -> AgentExecutor:
        journal.on_write = lambda *_: self._moment()
        return AgentExecutor(ScriptedClient(self.answer), journal=journal)


async def entries_of(journal: Journal) -> dict[str, list[bytes]]:
    """The entries of all runs without those that continue them, and without what differs from run to run."""
    found: dict[str, list[bytes]] = {}
    for run_id in sorted(await journal.run_ids()):
        found[run_id] = []
        async for stored in journal.read(run_id):
            entry = replace(stored.entry, at=0.0)
            if isinstance(entry, RunStarted):
                entry = replace(entry, trace_id="", limits=replace(entry.limits, seconds=None))
            if isinstance(entry, ToolFinished):
                entry = replace(entry, duration_ms=0)
            if not isinstance(entry, Resumed):
                found[run_id].append(encode_entry(entry))
    return found


async def driven(hands_over: Callable[[int], bool]) -> tuple[dict[str, list[bytes]], Counter[str], int]:
    """A run that is handed over at some of its moments; its entries, what its tools did, and its moments."""
    signal, moments = AbortSignal(), 0

    def moment() -> None:
        nonlocal moments
        moments += 1
        if hands_over(moments):
            signal.hand_over()

    office, journal = Office(moment), MemoryJournal()
    working = office.executor(journal).execute(office.chief, run_id="r", signal=signal)
    while True:
        try:
            result = await asyncio.wait_for(working, PATIENCE)
        except RunHandedOverError:
            assert (await journal.get("r")).status is RunStatus.RUNNING
            signal = AbortSignal()
            working = office.executor(journal).resume("r", office.chief, signal=signal)
        else:
            assert (result.success, result.output) == (True, "Done.")
            return await entries_of(journal), office.done, moments


def sometimes(rng: random.Random, _: int) -> bool:
    return rng.random() < 0.2


@pytest.mark.requirement("P1", "P2", "P3")
async def test_a_run_that_is_handed_over_at_any_moment_has_the_entries_of_one_that_is_not() -> None:
    entries, done, moments = await driven(lambda _: False)
    assert set(done.values()) == {1}

    for nth in range(1, moments + 1):
        handed_over = await driven(partial(eq, nth))
        assert handed_over[:2] == (entries, done), nth

    for seed in range(20):
        handed_over = await driven(partial(sometimes, random.Random(seed)))
        assert handed_over[:2] == (entries, done), seed


@pytest.mark.requirement("P1")
async def test_neither_a_delay_before_a_retry_nor_a_question_to_a_person_is_waited_for() -> None:
    @tool(approval=True)
    async def shred() -> str:
        """Shred it."""
        return "shredded"

    async def never(_: ApprovalRequest) -> bool:
        signal.hand_over()
        return await asyncio.Future()

    def limited(_: Request) -> Any:
        asyncio.get_running_loop().call_later(0.01, signal.hand_over)
        return NetworkError("The line is down.")

    async with asyncio.timeout(PATIENCE):
        for script, approve in ((limited, None), ([call("shred")], never)):
            signal, journal = AbortSignal(), MemoryJournal()
            first = AgentExecutor(ScriptedClient(script), journal=journal, approve=approve)
            with pytest.raises(RunHandedOverError, match="Resume it"):
                await first.execute(agent(shred, retry_delay=60), run_id="r", signal=signal)
            assert (await journal.get("r")).status is RunStatus.RUNNING


@pytest.mark.requirement("P1")
async def test_a_model_call_that_waits_for_a_rate_limit_is_not_waited_for_and_asked_by_whoever_resumes_the_run() -> (
    None
):
    signal, journal = AbortSignal(), MemoryJournal()
    definition = agent(model=ModelConfig(model="scripted:", request_timeout=60))
    limiter, client = RateLimiter(concurrency=1), ScriptedClient(["Hello."])
    async with asyncio.timeout(PATIENCE), limiter.admit():
        first = AgentExecutor(LimitedClient(client, limiter), journal=journal)
        asyncio.get_running_loop().call_later(0.01, signal.hand_over)
        with pytest.raises(RunHandedOverError):
            await first.execute(definition, run_id="r", signal=signal)

    result = await AgentExecutor(client, journal=journal).resume("r", definition)

    assert (result.output, len(client.requests)) == ("Hello.", 1)


async def test_a_run_without_a_journal_goes_on_to_its_end() -> None:
    signal = AbortSignal()
    signal.hand_over()

    result = await run(["Done."], agent(), signal=signal)

    assert result.output == "Done."


async def test_a_run_that_was_handed_over_is_traced_up_to_there() -> None:
    spans = InMemorySpanExporter()
    tracers = TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    instrument(tracer_provider=tracers)
    signal = AbortSignal()
    signal.hand_over()

    try:
        with pytest.raises(RunHandedOverError):
            await AgentExecutor(ScriptedClient(["Done."]), journal=MemoryJournal()).execute(
                agent(), signal=signal
            )
    finally:
        uninstrument()

    (span,) = spans.get_finished_spans()
    assert (span.attributes or {})["maverick.terminate_reason"] == "handed_over"
    assert span.status.is_unset
