"""What a listener is told: everything, once, in order, and at the time it happens."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, get_args, get_origin

import pytest

from maverick import AgentExecutor, tool
from maverick.exceptions import InvalidInputError, NetworkError
from maverick.loop import ToolOutcome
from maverick.loop.events import (
    ActivityEvent,
    AgentActivityEvent,
    ContentChunk,
    ErrorEvent,
    RunEnd,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
    TurnEnd,
    TurnStart,
    UsageUpdated,
)
from maverick.model import Request, Response, StopReason, Thought, Usage
from maverick.providers.scripted import Script, TurnLike
from maverick.telemetry import JsonFormatter
from maverick.testing import ScriptedClient, call, calls, reply, turn
from scenario import agent, watch


@tool
async def work(what: str = "it") -> str:
    """Work."""
    return f"{what} done"


@pytest.mark.requirement("003-FR3")
def test_the_seven_events_have_the_type_strings_of_the_specification() -> None:
    kinds: list[type[AgentActivityEvent]] = [
        TurnStart,
        Thinking,
        ToolCallStart,
        ToolCallEnd,
        ContentChunk,
        TurnEnd,
        ErrorEvent,
    ]

    assert [kind.type for kind in kinds] == [
        "turn_start",
        "thinking",
        "tool_call_start",
        "tool_call_end",
        "content_chunk",
        "turn_end",
        "error",
    ]


def test_the_union_of_events_has_every_kind_and_no_two_share_a_type_string() -> None:
    kinds = ActivityEvent.__subclasses__()

    assert [get_origin(kind) or kind for kind in get_args(AgentActivityEvent)] == kinds
    assert len({kind.type for kind in kinds}) == len(kinds) >= 13


@pytest.mark.requirement("003-FR3", "003-FR3-AC1", "003-G3")
async def test_a_run_is_told_from_its_start_to_its_end_in_order() -> None:
    script: Script = [
        turn(Thought("hm"), "Let me see.", call("work"), usage=Usage(5, 5)),
        reply("All done.", chunks=["All ", "done."]),
    ]

    watched = await watch(script, agent(work))

    assert watched.types == [
        "run_start",
        "turn_start",
        "thinking",
        "content_chunk",
        "content_chunk",
        "content_chunk",
        "usage_updated",
        "tool_call_start",
        "tool_call_end",
        "turn_end",
        "turn_start",
        "content_chunk",
        "content_chunk",
        "usage_updated",
        "turn_end",
        "run_end",
    ]
    assert [event.turn_number for event in watched.of(TurnStart)] == [1, 2]
    assert [event.turn_number for event in watched.of(TurnEnd)] == [1, 2]
    assert "".join(event.content for event in watched.of(ContentChunk)) == "Let me see.All done."
    assert [event.content for event in watched.of(Thinking)] == ["hm"]
    assert watched.of(RunEnd)[0].result == watched.result


@pytest.mark.requirement("003-FR3-AC2", "P3")
async def test_every_call_has_one_start_and_one_end_whatever_became_of_it() -> None:
    @tool
    async def fail() -> None:
        """Fail."""
        raise ValueError("no")

    script: Script = [
        calls(call("work", what="a"), call("fail"), call("unknown"), call("work", what="b")),
        "ok",
    ]
    watched = await watch(script, agent(work, fail))

    starts, ends = watched.of(ToolCallStart), watched.of(ToolCallEnd)
    assert [event.tool_call.id for event in starts] == ["call_1", "call_2", "call_3", "call_4"]
    assert sorted(event.tool_call_id for event in ends) == ["call_1", "call_2", "call_3", "call_4"]
    outcomes = {event.tool_call_id: event.outcome for event in ends}
    assert outcomes == {
        "call_1": ToolOutcome.FINISHED,
        "call_2": ToolOutcome.FAILED,
        "call_3": ToolOutcome.DENIED,
        "call_4": ToolOutcome.FINISHED,
    }
    assert {event.result for event in ends if not event.is_error} == {"a done", "b done"}
    assert all(event.duration_ms >= 0 for event in ends)


@pytest.mark.requirement("003-FR3-AC2", "P3")
async def test_calls_cut_short_by_the_end_of_the_run_have_an_end_too() -> None:
    @tool
    async def hang() -> None:
        """Never return."""
        await asyncio.Event().wait()

    watched = await watch([calls(call("work"), call("hang"))], agent(work, hang, timeout_ms=60))

    assert [event.outcome for event in watched.of(ToolCallEnd)] == [
        ToolOutcome.FINISHED,
        ToolOutcome.CANCELLED,
    ]
    assert watched.types[-3:] == ["turn_end", "error", "run_end"]


@pytest.mark.requirement("003-FR3-AC2", "P3")
@pytest.mark.parametrize(
    ("first", "settings", "ending"),
    [
        (calls(call("work"), call("ask")), {}, "awaiting_approval"),
        (calls(call("work"), stop_reason=StopReason.REFUSAL), {}, "refused"),
        (calls(call("work"), usage=Usage(5, 1)), {"max_cost_usd": 1.0}, "error"),
        (calls(call("work"), call("work")), {"max_tool_calls": 1}, "max_tool_calls"),
        (calls(call("work"), stop_reason=StopReason.MAX_TOKENS), {}, "complete"),
        (calls(call("work"), call("gone")), {"max_calls_per_turn": 1}, "complete"),
    ],
    ids=["nobody to ask", "refused", "no price", "calls", "cut off", "calls of a turn"],
)
async def test_a_call_that_never_began_has_its_start_and_its_end_too(
    first: TurnLike, settings: dict[str, Any], ending: str
) -> None:
    @tool(approval=True)
    async def ask() -> None:
        """Ask first."""

    watched = await watch([first, "ok"], agent(work, ask, **settings))

    result = watched.result
    ids = [record.call_id for record in result.tool_calls]
    assert result.terminate_reason == ending
    assert ids
    assert [event.tool_call.id for event in watched.of(ToolCallStart)] == ids
    assert sorted(event.tool_call_id for event in watched.of(ToolCallEnd)) == sorted(ids)
    outcomes = {event.tool_call_id: event.outcome for event in watched.of(ToolCallEnd)}
    assert outcomes == {record.call_id: record.outcome for record in result.tool_calls}
    assert watched.types.index("turn_end") > max(
        place for place, kind in enumerate(watched.types) if kind == "tool_call_end"
    )


@pytest.mark.requirement("003-FR3-AC3")
async def test_the_error_a_run_ends_with_is_told_once() -> None:
    error = NetworkError("Unreachable.", retryable=False)

    failed = await watch([error], agent())
    limited = await watch([call("work")], agent(work, max_turns=1))

    assert [event.error for event in failed.of(ErrorEvent)] == [error]
    assert [event.error for event in limited.of(ErrorEvent)] == list(limited.result.errors)
    assert failed.types[-2:] == ["turn_end", "run_end"]


@pytest.mark.requirement("003-FR3-AC4")
async def test_chunks_arrive_while_the_model_is_still_speaking() -> None:
    heard = asyncio.Event()

    class Waiting(ScriptedClient):
        """Goes on with its answer only when the first words were heard."""

        async def stream(self, request: Request) -> Any:
            async for item in super().stream(request):
                if isinstance(item, Response):
                    await asyncio.wait_for(heard.wait(), 5)
                yield item

    def listen(event: AgentActivityEvent) -> None:
        if isinstance(event, ContentChunk):
            heard.set()

    result = await AgentExecutor(Waiting([reply("One two.")])).execute(agent(), on_activity=listen)

    assert result.output == "One two."


@pytest.mark.requirement("003-NFR2-INTENT")
async def test_what_is_about_to_be_done_is_told_before_it_is_done() -> None:
    log: list[str] = []

    @tool
    async def act() -> str:
        """Act."""
        log.append("tool runs")
        return "done"

    def answer(request: Request) -> Any:
        log.append("model called")
        return call("act") if len(request.messages) == 1 else "ok"

    told = ("turn_start", "tool_call_start", "tool_call_end")

    def listen(event: AgentActivityEvent) -> None:
        if event.type in told:
            log.append(event.type)

    await AgentExecutor(ScriptedClient(answer)).execute(agent(act), on_activity=listen)

    assert log == [
        "turn_start",
        "model called",
        "tool_call_start",
        "tool runs",
        "tool_call_end",
        "turn_start",
        "model called",
    ]


@pytest.mark.requirement("003-NFR3-TRACE")
async def test_every_event_has_the_ids_of_its_run_the_agent_and_the_time() -> None:
    watched = await watch([call("work"), "ok"], agent(work), run_id="run_7", trace_id="trace_7")

    assert {(event.run_id, event.trace_id, event.agent) for event in watched.events} == {
        ("run_7", "trace_7", ("worker",))
    }
    times = [event.at for event in watched.events]
    assert times == sorted(times)
    assert times[0] > 1_700_000_000


@pytest.mark.requirement("002-R7", "003-NFR3-METRICS")
async def test_usage_is_told_after_each_model_call_with_the_total_so_far() -> None:
    script: Script = [calls(call("work"), usage=Usage(10, 1)), reply("ok", usage=Usage(20, 2))]

    watched = await watch(script, agent(work))

    assert [(event.usage, event.total) for event in watched.of(UsageUpdated)] == [
        (Usage(10, 1), Usage(10, 1)),
        (Usage(20, 2), Usage(30, 3)),
    ]
    assert watched.of(UsageUpdated)[1].context_tokens == 22


@pytest.mark.requirement("F-LISTENER")
async def test_a_listener_that_fails_is_logged_with_the_run_and_harms_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(event: AgentActivityEvent) -> None:
        raise RuntimeError("the screen is gone")

    client = ScriptedClient([call("work"), "Done."])
    with caplog.at_level(logging.ERROR, "maverick"):
        result = await AgentExecutor(client).execute(
            agent(work), on_activity=broken, run_id="run_7", trace_id="trace_7"
        )

    assert (result.success, result.output) == (True, "Done.")
    records = [record for record in caplog.records if "listener" in record.getMessage()]
    assert len(records) >= 9
    failure = records[0].__dict__["maverick"]
    assert failure["error"] == "RuntimeError"
    assert "in broken" in JsonFormatter().format(records[0])
    assert {record.__dict__["maverick"]["run_id"] for record in records} == {"run_7"}
    assert {record.__dict__["maverick"]["trace_id"] for record in records} == {"trace_7"}


async def listen(event: AgentActivityEvent) -> None:
    """A listener that has to be awaited."""


class Listener:
    """The same as an object."""

    async def __call__(self, event: AgentActivityEvent) -> None:
        await listen(event)


@pytest.mark.requirement("F-LISTENER")
@pytest.mark.parametrize("listener", [listen, Listener()], ids=["function", "object"])
async def test_a_listener_that_would_have_to_be_awaited_is_refused_with_advice(listener: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"stream\(\)") as caught:
        await AgentExecutor(ScriptedClient(["ok"])).execute(agent(), on_activity=listener)

    assert caught.value.field == "on_activity"


async def test_a_run_that_nobody_watches_and_nothing_can_stop_does_not_stream() -> None:
    class WholeOnly(ScriptedClient):
        """Answers in one piece only."""

        def stream(self, request: Request) -> Any:
            raise AssertionError("nobody listens")

    result = await AgentExecutor(WholeOnly(["Hello."])).execute(agent(timeout_ms=None))

    assert result.output == "Hello."
