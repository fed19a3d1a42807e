"""Watching runs that workers drive: what is said while it is said, once, from anywhere, and after a lost connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from temporalio.service import RetryConfig

from fleet.processes import WorkerProcess
from fleet.talking_agents import SPEECH
from fleet.test_worker import eventually, offer, publish, working
from maverick import (
    AgentDefinition,
    AgentExecutor,
    Image,
    OutputConfig,
    RunConfig,
    TerminateReason,
    ToolConfig,
    tool,
)
from maverick.cli.runs.in_fleet import events_in_fleet
from maverick.exceptions import ApprovalError, InvalidInputError, NetworkError, RunNotFoundError, ServerError
from maverick.fleet import Fleet, FleetRun
from maverick.fleet.worker import Offer, Worker
from maverick.journal import PostgresJournal
from maverick.loop.events import (
    AgentActivityEvent,
    ApprovalRequested,
    ContentChunk,
    RetryScheduled,
    RunEnd,
    RunResumed,
    RunStart,
    Thinking,
    TurnStart,
)
from maverick.model import LLMClient, Request, Response, StreamItem, Text, TextDelta, ThinkingDelta, Thought
from maverick.testing import ScriptedClient, call, fail, reply
from media_files import png
from postgres import run_statement
from temporal import connected, running_server

PATIENCE = 60
AGENTS = Path(__file__).with_name("talking_agents.py")
PNG = png(2, 2)


@tool(effect="pure")
async def look_up(word: str) -> str:
    """Look a word up."""
    return f"what {word} means"


reader: AgentDefinition[str] = AgentDefinition(
    name="reader", description="Reads.", tool_config=ToolConfig(tools=[look_up])
)
chief: AgentDefinition[str] = AgentDefinition(
    name="chief", description="Has others read.", tool_config=ToolConfig(tools=[look_up, reader.as_tool()])
)
numbers: AgentDefinition[list[int]] = AgentDefinition(
    name="numbers", description="Counts.", output_config=OutputConfig("numbers", list[int])
)


class Speaker:
    """A model that says one thing, and after each part of it waits until it may go on."""

    def __init__(self, *parts: str, thinking: str = "") -> None:
        self._parts = parts
        self._thinking = thinking
        self.may_go_on = asyncio.Semaphore(0)
        self.calls = 0

    async def run(self, request: Request) -> Response:
        raise AssertionError("an answer that someone may watch is streamed")

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self.calls += 1
        if self._thinking:
            yield ThinkingDelta(self._thinking)
        for part in self._parts:
            for start in range(0, len(part), 7):
                yield TextDelta(part[start : start + 7])
            await self.may_go_on.acquire()
        thoughts = (Thought(self._thinking),) if self._thinking else ()
        yield Response((*thoughts, Text("".join(self._parts))))


def spoken_by(fleet: Fleet, client: LLMClient) -> dict[str, Offer]:
    @asynccontextmanager
    async def executor(user_id: str | None) -> AsyncIterator[AgentExecutor]:
        yield AgentExecutor(client, journal=fleet.journal)

    return {"reader": Offer(reader, executor)}


@asynccontextmanager
async def another_process(fleet: Fleet, url: str) -> AsyncIterator[Fleet]:
    """The same fleet, seen by a process that shares nothing with this one but the servers."""
    async with PostgresJournal(url) as journal:
        yield Fleet(fleet.temporal, journal, fleet.queue)


async def read_until(events: AsyncIterator[AgentActivityEvent], text: str) -> list[AgentActivityEvent]:
    """The next events, up to the one with which this was said."""
    seen: list[AgentActivityEvent] = []
    async with asyncio.timeout(PATIENCE):
        while text not in said(seen):
            seen.append(await anext(events))
    return seen


async def rest_of(events: AsyncIterator[AgentActivityEvent]) -> list[AgentActivityEvent]:
    async with asyncio.timeout(PATIENCE):
        return [event async for event in events]


def said(events: list[AgentActivityEvent], kind: type[Any] = ContentChunk) -> str:
    """What is on the screen of whoever has seen these events."""
    shown = ""
    for event in events:
        if isinstance(event, RetryScheduled):
            shown = ""
        elif isinstance(event, kind):
            shown += event.content
    return shown


def outline(events: list[AgentActivityEvent]) -> list[Any]:
    """Events without what differs from run to run: ids, times, and into how many chunks an answer was cut."""
    lines: list[Any] = []
    for event in events:
        text = getattr(event, "content", getattr(event, "result", ""))
        line = [event.type, event.agent, text if isinstance(text, str) else text.output]
        if lines and lines[-1][:2] == line[:2] and isinstance(event, ContentChunk | Thinking):
            lines[-1][2] += line[2]
        else:
            lines.append(line)
    return lines


def reading(request: Request) -> Any:
    """A chief who looks something up and has a reader read, which looks something up too."""
    turn, is_chief = len(request.messages), "reader" in [tool.name for tool in request.tools]
    if turn == 1:
        return call("look_up", word="a")
    if turn == 3 and is_chief:
        return call("reader", prompt="Read it.")
    return reply("All read.") if is_chief else reply("I have read it.", thinking="Hm.")


@pytest.mark.requirement("FLEET-WATCH")
async def test_a_terminal_sees_all_of_an_answer_it_joins_in_once_and_why_a_run_was_given_up(
    fleet: Fleet, postgres_url: str
) -> None:
    speaker = Speaker("Once upon a time ", "there was a fleet.")
    async with working(Worker(fleet, spoken_by(fleet, speaker))), PostgresJournal(postgres_url) as journal:
        run = await fleet.start("reader", inputs={"prompt": "Tell."}, user_id="ana")
        await eventually(partial(has_been_asked, speaker))
        seen = (await journal.get(run.run_id)).entries
        async with aclosing(events_in_fleet(journal, run.run_id, seen)) as events:
            before = await read_until(events, "Once upon a time ")
            for _ in range(2):
                speaker.may_go_on.release()
            after = await rest_of(events)
        await asyncio.wait_for(run.ended(), PATIENCE)
        given_up = await fleet.fork(run.run_id, turn=9, user_id="ana")
        for why in (given_up.result(), rest_of(events_in_fleet(journal, given_up.run_id, 0))):
            with pytest.raises(InvalidInputError, match="not 9"):
                await asyncio.wait_for(why, PATIENCE)

    assert said([*before, *after]) == "Once upon a time there was a fleet."
    assert isinstance(after[-1], RunEnd)


async def has_been_asked(speaker: Speaker) -> bool:
    return speaker.calls > 0


@pytest.mark.requirement("FLEET-WATCH")
async def test_a_watcher_sees_the_events_of_a_run_and_of_its_subagents_as_a_listener_does(
    fleet: Fleet, postgres_url: str
) -> None:
    heard: list[AgentActivityEvent] = []
    await AgentExecutor(ScriptedClient(reading), journal=fleet.journal).execute(
        chief, inputs={"prompt": "Go."}, on_activity=heard.append
    )

    async with (
        working(Worker(fleet, offer(fleet, lambda: reading, chief))),
        another_process(fleet, postgres_url) as elsewhere,
    ):
        run = await fleet.start("chief", inputs={"prompt": "Go."})
        while_it_ran = await rest_of(aiter(elsewhere.run(run.run_id).events()))
        afterwards = await rest_of(aiter(run.events()))

    assert outline(while_it_ran) == outline(heard)
    assert outline(afterwards) == outline(heard)


@pytest.mark.requirement("FLEET-CURSOR")
async def test_every_cursor_goes_on_with_the_next_event_in_another_process(
    fleet: Fleet, postgres_url: str
) -> None:
    async with working(Worker(fleet, offer(fleet, lambda: reading, chief))):
        run = await fleet.start("chief", inputs={"prompt": "Go."})
        whole = run.events()
        seen = [(event, whole.cursor) async for event in whole]

    async with another_process(fleet, postgres_url) as elsewhere:
        for number, (_, cursor) in enumerate(seen, start=1):
            rest = await rest_of(aiter(elsewhere.run(run.run_id).events(after=cursor)))
            assert [event.type for event in rest] == [event.type for event, _ in seen[number:]]


@pytest.mark.requirement("FLEET-WATCH", "FLEET-CURSOR")
async def test_words_are_seen_as_they_are_said_by_all_who_watch_and_once_by_each(
    fleet: Fleet, postgres_url: str
) -> None:
    model = Speaker("Good morning, ", "good 🌞 day", ", good night.", thinking="It is early.")
    async with (
        working(Worker(fleet, spoken_by(fleet, model))),
        another_process(fleet, postgres_url) as elsewhere,
    ):
        run = await fleet.start("reader", inputs={"prompt": "Greet."})
        first = run.events()
        reading_first = aiter(first)
        by_first = await read_until(reading_first, "Good morning, ")
        second = elsewhere.run(run.run_id).events()  # which begins to watch in the middle
        reading_second = aiter(second)
        by_second = await read_until(reading_second, "Good morning, ")
        model.may_go_on.release()
        by_first += await read_until(reading_first, "day")
        by_second += await read_until(reading_second, "day")
        await reading_second.aclose()
        model.may_go_on.release()
        model.may_go_on.release()
        by_first += await rest_of(reading_first)
        by_second += await rest_of(aiter(elsewhere.run(run.run_id).events(after=second.cursor)))

    for seen in (by_first, by_second):
        assert said(seen) == "Good morning, good 🌞 day, good night."
        assert said(seen, Thinking) == "It is early."
        assert [event.type for event in seen].count("retry_scheduled") == 0
        assert isinstance(seen[-1], RunEnd)
    assert model.calls == 1


async def test_an_answer_of_any_size_in_any_script_arrives_whole_although_the_connection_is_lost(
    fleet: Fleet, postgres_url: str
) -> None:
    answer = "".join(chr(0x4E00 + n % 5000) + "é🌞\x01\na"[n % 5] for n in range(50_000))
    model = Speaker(answer[:40_000], answer[40_000:80_000], answer[80_000:])
    async with (
        working(Worker(fleet, spoken_by(fleet, model))),
        another_process(fleet, postgres_url) as elsewhere,
    ):
        run = await fleet.start("reader", inputs={"prompt": "Greet."})
        events = aiter(elsewhere.run(run.run_id).events())
        seen = await read_until(events, answer[:40_000])
        await run_statement(
            postgres_url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND query LIKE 'LISTEN maverick_watch%'",
        )
        model.may_go_on.release()
        seen += await read_until(events, answer[79_000:80_000])
        model.may_go_on.release()
        model.may_go_on.release()
        seen += await rest_of(events)

    assert said(seen) == answer
    assert [event.type for event in seen].count("retry_scheduled") == 0


@pytest.mark.requirement("FLEET-WATCH", "FLEET-CURSOR")
async def test_words_of_a_worker_that_was_killed_or_frozen_are_void_and_those_of_the_next_one_come_once(
    fleet: Fleet, temporal_server: str, postgres_url: str, tmp_path: Path
) -> None:
    workers = [
        WorkerProcess(
            AGENTS,
            temporal_server,
            postgres_url,
            log=tmp_path / f"worker{number}.log",
            queue=fleet.queue,
            environment={"TALKS": str(tmp_path / "talks")},
        )
        for number in range(3)
    ]

    async def drives(worker: WorkerProcess) -> bool:
        return f"-{worker.pid}-" in str((await run.status()).worker)

    async def driving() -> WorkerProcess:
        (found,) = [worker for worker in workers if await drives(worker)]
        return found

    try:
        run = await fleet.start("talker", inputs={"prompt": "Talk."})
        watched = run.events()
        events = aiter(watched)
        seen = await read_until(events, "wörd3")
        (await driving()).kill()
        seen += await read_until(events, "wörd3")
        frozen, cursor, seen_before = await driving(), watched.cursor, list(seen)
        frozen.freeze()
        while await drives(frozen):  # noqa: ASYNC110 - another process is the one that notices
            await asyncio.sleep(0.05)
        frozen.thaw()  # and it goes on to say what no one is to hear
        elsewhere = aiter(fleet.run(run.run_id).events(after=cursor))
        both = await asyncio.gather(rest_of(events), rest_of(elsewhere))
    finally:
        for worker in workers:
            worker.kill()

    for heard in (seen + both[0], seen_before + both[1]):
        assert said(heard) == SPEECH
        kinds = [type(event) for event in heard if not isinstance(event, ContentChunk)]
        void = [RunResumed, RetryScheduled]
        assert kinds[:6] == [RunStart, TurnStart, *void, *void]
        assert kinds.count(RetryScheduled) == 2
        assert kinds[-1] is RunEnd


async def test_words_of_an_attempt_that_failed_are_void_as_they_are_for_a_listener(fleet: Fleet) -> None:
    hasty = replace(reader, run_config=RunConfig(retry_delay=0.001))
    answers = offer(
        fleet, lambda: [fail(ServerError("Overloaded."), after="Sun", pace=0.2), reply("Sunny.")], hasty
    )
    async with working(Worker(fleet, answers)):
        run = await fleet.start("reader", inputs={"prompt": "Weather?"})
        seen = await rest_of(aiter(run.events()))

    assert said(seen) == "Sunny."
    kinds = [event.type for event in seen if not isinstance(event, ContentChunk)]
    assert kinds == [
        "run_start",
        "turn_start",
        "error",
        "retry_scheduled",
        "usage_updated",
        "turn_end",
        "run_end",
    ]


async def test_an_answer_that_did_not_fit_its_type_is_followed_by_the_one_that_does(fleet: Fleet) -> None:
    answers = offer(fleet, lambda: [reply("one, two"), reply("[1, 2]")], numbers)
    async with working(Worker(fleet, answers)):
        run = await fleet.start("numbers", inputs={"prompt": "Count."})
        seen = await rest_of(aiter(run.events()))

    assert [event.turn_number for event in seen if isinstance(event, TurnStart)] == [1, 2]
    assert [type(event) for event in seen].count(RunEnd) == 1
    assert said(seen) == "one, two[1, 2]"


# The client ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("FLEET-RESULT")
async def test_a_result_is_that_of_the_executor_and_typed_with_the_definition(fleet: Fleet) -> None:
    def script() -> list[Any]:
        return [reply("one, two"), reply("[1, 2]")]

    expected = await AgentExecutor(ScriptedClient(script())).execute(numbers, inputs={"prompt": "Count."})

    async with working(Worker(fleet, offer(fleet, script, numbers))):
        run = await fleet.start("numbers", inputs={"prompt": "Count."}, user_id="ana")
        result = await asyncio.wait_for(run.result(numbers), PATIENCE)
        plain = await run.result()

    assert (result.success, result.output, result.validated) == (True, [1, 2], True)
    assert (result.turn_count, result.terminate_reason) == (expected.turn_count, expected.terminate_reason)
    assert result.usage.total_tokens == expected.usage.total_tokens == plain.usage.total_tokens
    assert [message.content for message in result.messages] == [m.content for m in expected.messages]
    assert (plain.success, plain.output) == (True, [1, 2])
    assert [record.run_id for record in await fleet.list(user_id="ana")] == [run.run_id]
    assert await fleet.list(user_id="ben") == []


@pytest.mark.requirement("FLEET-START")
async def test_a_run_is_started_once_with_its_images_whoever_asks_again(fleet: Fleet) -> None:
    image = Image.from_bytes(PNG)
    seen: list[Request] = []

    def look(request: Request) -> Any:
        seen.append(request)
        return reply("A dot.")

    inputs = {"prompt": ["What is this?", image]}
    async with working(Worker(fleet, offer(fleet, lambda: look, reader))):
        run = await fleet.start("reader", inputs=inputs, run_id="image-1")
        again = await fleet.start("reader", inputs=inputs, run_id="image-1")
        results = await asyncio.wait_for(asyncio.gather(run.result(), again.result()), PATIENCE)

    assert [result.output for result in results] == ["A dot.", "A dot."]
    (request,) = seen
    assert [
        part.blob.data for part in request.messages[0].parts if isinstance(part, Image) and part.blob
    ] == [PNG]
    different: list[dict[str, Any]] = [{"inputs": {"prompt": "Else."}}, {"inputs": inputs, "user_id": "ben"}]
    for wrong in different:
        with pytest.raises(InvalidInputError, match="another run 'image-1'"):
            await fleet.start("reader", run_id="image-1", **wrong)


@pytest.mark.parametrize(
    "wrong", [{"run_id": "a/b"}, {"run_id": "x" * 201}, {"priority": 9}, {"inputs": {"prompt": object()}}]
)
async def test_what_cannot_be_started_is_refused_at_once(fleet: Fleet, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        await fleet.start("reader", **wrong)

    assert await fleet.list() == []


async def test_a_run_that_was_aborted_before_it_began_has_a_result_and_an_end(fleet: Fleet) -> None:
    run = await fleet.start("reader", inputs={"prompt": "Greet."}, user_id="ana")
    assert (await run.status()).waits_for == "a worker that has the agent 'reader'"
    with pytest.raises(InvalidInputError, match="no worker has begun"):
        await run.say("Hurry.", user_id="ana")
    with pytest.raises(RunNotFoundError):
        await run.say("Hurry.", user_id="ben")
    waiting = asyncio.create_task(run.result())
    await run.abort("not needed")

    result = await asyncio.wait_for(waiting, PATIENCE)
    (end,) = await rest_of(aiter(run.events()))

    assert (result.success, result.terminate_reason) == (False, TerminateReason.ABORTED)
    assert "not needed" in str(result.error)
    assert isinstance(end, RunEnd)
    assert end.result.error == result.error


async def test_a_run_that_was_aborted_in_mid_answer_keeps_its_words_and_can_be_resumed(fleet: Fleet) -> None:
    model = Speaker("Good morning.")
    async with working(Worker(fleet, spoken_by(fleet, model))):
        run = await fleet.start("reader", inputs={"prompt": "Greet."})
        events = aiter(run.events())
        seen = await read_until(events, "Good morning.")
        await run.abort("enough")
        seen += await rest_of(events)
        stopped = await run.ended()
        model.may_go_on.release()
        resumed = await fleet.resume(run.run_id)
        result = await asyncio.wait_for(resumed.result(), PATIENCE)
        with pytest.raises(InvalidInputError, match="has ended"):
            await fleet.resume(run.run_id)

    assert said(seen) == "Good morning."
    assert (stopped.reason, result.output, result.success) == ("aborted", "Good morning.", True)


async def test_a_run_that_does_not_exist_is_not_found(fleet: Fleet) -> None:
    run = fleet.run("none")

    with pytest.raises(RunNotFoundError, match="none"):
        await run.result()
    with pytest.raises(RunNotFoundError, match="none"):
        await run.status()
    with pytest.raises(RunNotFoundError, match="none"):
        await rest_of(aiter(run.events()))


@pytest.mark.parametrize("cursor", ["x", "1", "1-2-3", "0-0,0-0", "1/2:0-0", "99-0"])
async def test_what_is_no_cursor_of_the_run_is_refused(fleet: Fleet, cursor: str) -> None:
    await AgentExecutor(ScriptedClient(["Hi."]), journal=fleet.journal).execute(
        reader, inputs={"prompt": ""}, run_id="r"
    )

    with pytest.raises(InvalidInputError, match="cursor"):
        await rest_of(aiter(fleet.run("r").events(after=cursor)))


async def test_a_temporal_that_is_gone_is_an_error_of_ours_and_a_run_is_not_lost(postgres_url: str) -> None:
    with running_server() as (address, process):
        hasty = RetryConfig(max_elapsed_time_millis=500)
        temporal = await connected(address, retry_config=hasty)
        async with Fleet(temporal, PostgresJournal(postgres_url)) as fleet:
            process.kill()
            process.wait()
            run, unreached = await asyncio.gather(
                fleet.start("reader", inputs={"prompt": "Greet."}),
                fleet.workflows.wake("x"),
                return_exceptions=True,
            )

            assert isinstance(run, FleetRun)
            assert (await run.status()).state == "started"
    assert isinstance(unreached, NetworkError)
    assert "Temporal could not be reached" in str(unreached)


async def test_whoever_watches_sees_a_subagents_question_and_what_follows_the_answer(fleet: Fleet) -> None:
    publisher: AgentDefinition[str] = AgentDefinition(
        name="publisher", description="Publishes.", tool_config=ToolConfig(tools=[publish])
    )
    editor: AgentDefinition[str] = AgentDefinition(
        name="editor", description="Edits.", tool_config=ToolConfig(tools=[publisher.as_tool()])
    )

    def answers(request: Request) -> Any:
        is_editor = request.tools[0].name == "publisher"
        if len(request.messages) > 1:
            return reply("Edited." if is_editor else "Published.")
        return call("publisher", prompt="Do.") if is_editor else call("publish", text="news")

    async with working(Worker(fleet, offer(fleet, lambda: answers, editor))):
        run = await fleet.start("editor", inputs={"prompt": "Publish the news."}, user_id="ana")
        seen: list[AgentActivityEvent] = []
        async with asyncio.timeout(PATIENCE):
            async for event in run.events():
                seen.append(event)
                if isinstance(event, ApprovalRequested):
                    await run.approve(event.approval_id, by="ana")

    kinds = [(event.type, len(event.agent)) for event in seen]
    assert kinds.count(("approval_requested", 2)) == kinds.count(("approval_given", 2)) == 1
    assert kinds.index(("approval_given", 2)) < kinds.index(("run_end", 2)) < kinds.index(("run_end", 1))
    assert [event.content for event in seen if isinstance(event, ContentChunk)] == ["Published.", "Edited."]


async def test_a_request_can_be_decided_as_soon_as_its_event_is_heard(fleet: Fleet) -> None:
    def answers(request: Request) -> Any:
        return reply("Published.") if len(request.messages) > 1 else call("publish", text="news")

    publisher: AgentDefinition[str] = AgentDefinition(
        name="publisher", description="Publishes.", tool_config=ToolConfig(tools=[publish])
    )
    async with working(Worker(fleet, offer(fleet, lambda: answers, publisher))):
        run = await fleet.start("publisher", inputs={"prompt": "Publish the news."}, user_id="ana")
        # Even before the request is written, which is when its event may be heard.
        await run.approve(f"{run.run_id}:1:0", by="ana")
        result = await run.result(publisher)

    assert (result.success, result.output) == (True, "Published.")
    with pytest.raises(ApprovalError):
        await run.approve("run_other:1:0", by="ana")


async def test_a_watcher_that_is_too_slow_for_the_words_has_the_rest_from_the_journal(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maverick.fleet.watching._MOST_HEARD", 3)
    rest = "good night. " * 1000
    model = Speaker("Good morning, ", rest)
    async with working(Worker(fleet, spoken_by(fleet, model))):
        run = await fleet.start("reader", inputs={"prompt": "Greet."})
        events = aiter(run.events())
        seen = await read_until(events, "Good morning, ")
        model.may_go_on.release()
        model.may_go_on.release()
        await run.ended()
        seen += await rest_of(events)

    assert said(seen) == f"Good morning, {rest}"
