"""The guarantees of the runner: limits, who it acts for, what it keeps, and what it does not."""

from __future__ import annotations

import asyncio
import builtins
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.lowlevel import Server
from sqlmodel import Session

from chat.parlour import Parlour
from leaping_clock import LeapingClock
from maverick.chat import (
    AgentContext,
    AgentResult,
    AgentRunner,
    AnswerTimeoutError,
    Database,
    MCPToolServer,
)
from maverick.chat.confirmations import ConfirmationStore
from maverick.chat.database import owned_session
from maverick.chat.phrases import OUT_OF_TIME, STOPPED, TOO_MUCH
from maverick.chat.prompt import CHAT_LIMITS
from maverick.exceptions import TimeoutError
from maverick.journal import ApprovalStatus, SqliteJournal
from maverick.loop import RunConfig
from maverick.loop.events import ContentChunk, RunEnd, RunStart, ToolCallEnd, ToolCallStart
from maverick.model import ModelInfo, Request, RequestConfig
from maverick.model.client import RequestDefaults
from maverick.runtime import AbortSignal
from maverick.testing import ScriptedClient, call, calls, reply
from maverick.tools.mcp import MCPToolset


class PulledPlug(BaseException):
    """The process dies here."""


@pytest.mark.requirement("004-RUN-STEPS")
async def test_a_run_gives_the_model_its_instructions_its_tools_the_history_and_the_message(
    database: Database,
) -> None:
    client = ScriptedClient([reply("Hello!"), call("add_task", title="buy milk"), reply("Done!")])
    parlour = Parlour(database, client=client)

    await parlour.say("hi")
    result = await parlour.say("add milk")
    await parlour.aclose()

    asked = client.requests[1]
    assert "list of tasks" in asked.system
    assert "Wednesday, 2026-03-04" in asked.system
    assert {tool.name for tool in asked.tools} >= {"add_task", "list_tasks", "complete_task", "update_task"}
    assert [message.content for message in asked.messages] == ["hi", "Hello!", "add milk"]
    assert parlour.titles() == ["buy milk"]
    assert result.response == "Got it! Added 'buy milk' to your list. Anything else?"


@pytest.mark.parametrize(
    ("info", "settings", "room"),
    [
        (ModelInfo(), RequestConfig(), 1000),
        (ModelInfo(thinks=True), RequestConfig(), 9000),
        (ModelInfo(thinks=True), RequestConfig(thinking="off"), 1000),
        (ModelInfo(), RequestConfig(thinking="adaptive"), 9000),
        (ModelInfo(), RequestConfig(effort="high"), 9000),
        (ModelInfo(), RequestConfig(thinking=4000), 5000),
        (ModelInfo(max_output=4500), RequestConfig(thinking=4000), 4500),
        (ModelInfo(thinks=True), RequestConfig(max_tokens=700), 700),
    ],
)
async def test_a_model_that_thinks_has_room_for_it_besides_the_words(
    database: Database, info: ModelInfo, settings: RequestConfig, room: int
) -> None:
    client = ScriptedClient([reply("Hello!")], info=info)
    client.defaults = RequestDefaults(settings)
    parlour = Parlour(database, client=client)

    await parlour.say("hi")
    await parlour.aclose()

    assert client.requests[0].config.max_tokens == room


@pytest.mark.requirement("004-G-CALLS", "004-LIMIT-CALLS")
@pytest.mark.parametrize("at_once", [1, 3, 11, 25])
async def test_at_most_ten_tool_calls_are_made_and_recorded_however_they_are_asked_for(
    at_once: int, database: Database
) -> None:
    numbers = count(1)

    def ask(_: Request) -> Any:
        return calls(*[call("add_task", title=f"task {next(numbers)}") for _ in range(at_once)])

    parlour = Parlour(database, client=ScriptedClient(ask))

    result = await parlour.say("add something")
    await parlour.aclose()

    assert len(result.tool_calls) == len(parlour.titles()) == 10
    assert all(record.result["success"] for record in result.tool_calls)
    assert (result.success, result.error) == (False, TOO_MUCH)
    assert result.response.startswith("Got it! Added 'task 1', 'task 2', ")
    assert result.response.endswith(TOO_MUCH)


@pytest.mark.requirement("004-G-CALLS")
async def test_ten_tool_calls_are_not_too_many(database: Database) -> None:
    ten = calls(*[call("add_task", title=f"task {n}") for n in range(10)])
    parlour = Parlour(database, client=ScriptedClient([ten, reply("Done!")]))

    result = await parlour.say("add ten tasks")
    await parlour.aclose()

    assert (result.success, len(result.tool_calls), len(parlour.titles())) == (True, 10, 10)


@pytest.mark.requirement("004-TIMEOUT", "004-LIMIT-TIME")
async def test_a_run_that_takes_too_long_raises_a_timeout_error(database: Database) -> None:
    limits = RunConfig(timeout_ms=50, max_tool_calls=10)
    parlour = Parlour(database, client=ScriptedClient([reply("late", delay=60)]), limits=limits)

    with pytest.raises(TimeoutError, match="Please try again") as caught:
        await parlour.say("hi")
    await parlour.aclose()

    assert CHAT_LIMITS.timeout_ms == 30_000
    assert isinstance(caught.value, builtins.TimeoutError)


@pytest.mark.requirement("004-TIMEOUT", "004-LIMIT-TIME")
@pytest.mark.parametrize("stuck_from", [0, 1, 2])
async def test_the_time_covers_the_session_factory_whenever_it_hangs(
    stuck_from: int, database: Database
) -> None:
    is_over, opened = threading.Event(), count()

    def session() -> Session:
        if next(opened) >= stuck_from:
            is_over.wait(60)
        return database.session()

    client = ScriptedClient(lambda _: call("add_task", title="milk"))
    runner = AgentRunner(
        session, MCPToolServer(session), client=client, limits=RunConfig(timeout_ms=200, max_tool_calls=10)
    )
    async with asyncio.timeout(20):
        with pytest.raises(builtins.TimeoutError) as caught:
            await runner.run(AgentContext.from_request("ana", "talk", []), "add milk")
    is_over.set()
    await runner.aclose()

    assert isinstance(caught.value, AnswerTimeoutError)
    assert type(caught.value.result.tool_calls) is list
    assert not caught.value.result.success


@pytest.mark.requirement("004-TIMEOUT")
async def test_the_time_covers_the_loading_of_tools(database: Database) -> None:
    class Silent:
        def client(self) -> Client:
            return Client(Server("silent", on_list_tools=self.list_tools))

        async def list_tools(self, *_: Any) -> Any:
            await asyncio.Event().wait()

    toolset = MCPToolset("silent", Silent())
    parlour = Parlour(database, toolsets=[toolset], limits=RunConfig(timeout_ms=200))

    async with asyncio.timeout(20):
        with pytest.raises(AnswerTimeoutError, match="Please try again"):
            await parlour.say("add milk")
    await parlour.aclose()


@pytest.mark.requirement("004-R-LIST", "F-TOOL-SEQUENTIAL")
async def test_in_one_turn_a_list_shows_what_was_added_before_it(database: Database) -> None:
    turn = calls(call("list_tasks"), call("add_task", title="buy milk"), call("list_tasks"))
    parlour = Parlour(database, client=ScriptedClient([turn, reply("There you are.")]))

    result = await parlour.say("add milk and show my list")
    await parlour.aclose()

    assert result.response == "Got it! Added 'buy milk' to your list. Anything else?\n1. ☐ buy milk"


@pytest.mark.requirement("004-TIMEOUT")
async def test_a_slow_database_is_waited_for_until_the_time_is_up_and_the_user_is_told_to_check(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, begun, release = LeapingClock(monkeypatch), threading.Event(), threading.Event()

    def slow() -> Any:
        begun.set()
        release.wait(60)
        return database.session()

    client = ScriptedClient([call("add_task", title="milk"), reply("done")])
    runner = AgentRunner(database.session, MCPToolServer(slow), client=client)
    context = AgentContext.from_request(user_id="ana", conversation_id="c", messages=[])
    answering = asyncio.create_task(runner.run(context, "add milk"))
    await asyncio.to_thread(begun.wait, 60)
    try:
        for seconds in (25, 6):
            clock.leap(seconds)
            await asyncio.sleep(0.05)
        with pytest.raises(AnswerTimeoutError) as caught:
            await answering
    finally:
        release.set()
    await runner.aclose()

    assert caught.value.result.response == OUT_OF_TIME, caught.value.result.tool_calls
    assert "Check what its tools have done" in str(caught.value)
    assert not caught.value.retryable


@pytest.mark.requirement("004-TIMEOUT", "CHAT-KEYED")
@pytest.mark.parametrize("kept", [True, False])
async def test_past_the_time_it_is_told_what_was_done_and_asking_again_does_it_no_second_time(
    kept: bool, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = LeapingClock(monkeypatch)

    def answer(request: Request) -> Any:
        if not request.messages[-1].tool_call_id:
            return call("add_task", title="milk")
        clock.leap(31)
        return reply("late", delay=60)

    async with SqliteJournal(tmp_path / "runs.db") as journal:
        parlour = Parlour(database, client=ScriptedClient(answer), journal=journal if kept else None)
        errors = []
        for _ in range(2):
            with pytest.raises(AnswerTimeoutError) as caught:
                await parlour.runner.run(parlour.context(), "add milk", request_id="r1")
            errors.append(caught.value)
        await parlour.aclose()

    for error in errors:
        assert "Check what its tools have done" in str(error)
        assert not error.retryable
        assert [record.tool_name for record in error.result.tool_calls] == ["add_task"]
        assert not error.result.success
        assert error.result.response == f"Got it! Added 'milk' to your list. Anything else?\n{OUT_OF_TIME}"
    assert parlour.titles() == ["milk"]


@pytest.mark.requirement("004-G-USER", "004-ISOLATION-INJECTED", "P6")
async def test_every_tool_call_acts_for_the_user_of_the_context(database: Database) -> None:
    parlour = Parlour(database, client=ScriptedClient(_add_then_say))

    for user in ("ana", "bob", "cleo"):
        await parlour.say("add my task", user)
    await parlour.aclose()

    assert [parlour.titles(user) for user in ("ana", "bob", "cleo", "dan")] == [["one"], ["one"], ["one"], []]


@pytest.mark.requirement("004-G-USER", "P6")
async def test_no_tool_has_the_user_in_its_schema(parlour: Parlour) -> None:
    agent = await parlour.runner.agent()

    for tool in agent.tool_config.tools:
        assert not isinstance(tool, str)
        assert not [name for name in tool.parameters["properties"] if "user" in name or name.endswith("id")]
        assert tool.parameters["additionalProperties"] is False


@pytest.mark.requirement("004-STATELESS-RUNS")
async def test_a_runner_keeps_nothing_between_runs(database: Database) -> None:
    seen = ScriptedClient(lambda _: reply("Hello!"))
    parlour = Parlour(database, client=seen)

    await parlour.runner.run(parlour.context(), "remember the number 7")
    await parlour.runner.run(parlour.context(), "which number?")
    await parlour.aclose()

    assert [message.content for message in seen.requests[1].messages] == ["which number?"]


@pytest.mark.requirement("004-STATELESS-RUNS")
async def test_another_runner_goes_on_where_the_first_one_was(database: Database) -> None:
    said = ["add buy milk", "delete it", "yes delete", "undo"]
    answers = []
    for message in said:
        parlour = Parlour(database)  # as another process, or another machine
        answers.append((await parlour.say(message)).response)
        await parlour.aclose()

    assert answers[2:] == [
        "I've removed 'buy milk' from your tasks.",
        "I've undone that: 'buy milk' is back on your list.",
    ]


@pytest.mark.parametrize("message", ["", "   ", "\0\0", "x" * 10_001])
async def test_a_message_without_words_or_with_too_many_is_asked_about(
    message: str, parlour: Parlour
) -> None:
    result = await parlour.runner.run(parlour.context(), message)

    assert not result.success
    assert result.response.startswith("Could you provide more details about ")


async def test_a_message_with_characters_that_are_none_does_no_harm(parlour: Parlour) -> None:
    result = await parlour.say("add buy\0 mil\ud800k 🥛")

    assert result.success
    assert parlour.titles() == ["buy mil?k 🥛"]


async def test_a_stream_tells_what_happens_and_ends_with_the_result(parlour: Parlour) -> None:
    seen = [event async for event in parlour.runner.stream(parlour.context(), "add buy milk")]

    kinds = [type(event) for event in seen]
    assert kinds[0] is RunStart
    assert kinds[-2:] == [RunEnd, AgentResult]
    assert kinds.index(ToolCallStart) < kinds.index(ToolCallEnd) < kinds.index(ContentChunk)
    said = "".join(event.content for event in seen if isinstance(event, ContentChunk))
    assert isinstance(seen[-1], AgentResult)
    assert said == seen[-1].response


async def test_a_stream_that_is_left_stops_the_run(database: Database) -> None:
    parlour = Parlour(database, client=ScriptedClient(lambda _: call("add_task", title="again")))

    async for event in parlour.runner.stream(parlour.context(), "add"):
        if isinstance(event, ToolCallEnd):
            break
    await asyncio.sleep(0)
    await parlour.aclose()

    assert len(parlour.titles()) <= 2


async def test_an_answer_that_is_stopped_keeps_what_there_is_of_it(database: Database) -> None:
    client = ScriptedClient([reply("Once upon a time there was a king. He had no dog", pace=0.01)])
    parlour, signal = Parlour(database, client=client), AbortSignal()
    result: Any = None

    async for event in parlour.runner.stream(parlour.context(), "a story", signal=signal):
        if isinstance(event, ContentChunk) and "king" in event.content:
            signal.abort()
        result = event
    await parlour.aclose()

    assert (result.success, result.error) == (False, STOPPED)
    assert result.response.startswith("Once upon a time there was a king.")


@pytest.mark.requirement("P2", "CHAT-KEYED")
@pytest.mark.parametrize("kept", [True, False])
async def test_a_request_that_is_sent_twice_acts_once(kept: bool, database: Database, tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        parlour = Parlour(database, journal=journal if kept else None)
        context = parlour.context()

        answers = [await parlour.runner.run(context, "add buy milk", request_id="r1") for _ in range(3)]
        other = await parlour.runner.run(parlour.context("bob"), "add buy milk", request_id="r1")
        await parlour.aclose()

    assert len({answer.response for answer in answers}) == 1
    assert other.success
    assert parlour.titles() == parlour.titles("bob") == ["buy milk"]


@pytest.mark.requirement("P1", "P2", "CHAT-KEYED")
@pytest.mark.parametrize("last_write", range(3, 11))
async def test_a_request_sent_again_after_a_crash_goes_on_and_acts_once(
    last_write: int, database: Database, tmp_path: Path
) -> None:
    await _crash_while_asked("add buy milk", last_write, database, tmp_path / "runs.db")

    async with SqliteJournal(tmp_path / "runs.db") as found:
        parlour = Parlour(database, journal=found)
        result = await parlour.runner.run(parlour.context(), "add buy milk", request_id="r1")
        await parlour.aclose()

    assert result.response == "Got it! Added 'buy milk' to your list. Anything else?"
    assert parlour.titles() == ["buy milk"]


@pytest.mark.requirement("CHAT-KEYED", "CHAT-CONFIRM")
@pytest.mark.parametrize("kept", [True, False])
async def test_a_question_outlives_the_request_that_asked_it_being_sent_again(
    kept: bool, database: Database, tmp_path: Path
) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        parlour = Parlour(database, journal=journal if kept else None)
        parlour.add("buy milk", "buy eggs")

        await parlour.runner.run(parlour.context(), "delete all tasks", request_id="r1")
        asked = await parlour.say("delete all tasks", request_id="r1")
        await parlour.runner.run(parlour.context(), "yes delete all", request_id="r2")
        done = await parlour.say("yes delete all", request_id="r2")
        await parlour.aclose()

    assert asked.response == "That's a big action. Confirm with 'yes delete all'."
    assert done.response == "Done! I've deleted 2 tasks."
    assert parlour.titles() == []


@pytest.mark.requirement("P1", "CHAT-CONFIRM")
@pytest.mark.parametrize("last_write", range(3, 11))
async def test_a_question_outlives_a_crash_of_the_request_that_asked_it(
    last_write: int, database: Database, tmp_path: Path
) -> None:
    Parlour(database).add("buy milk", "buy eggs")
    await _crash_while_asked("delete all tasks", last_write, database, tmp_path / "runs.db")

    async with SqliteJournal(tmp_path / "runs.db") as found:
        parlour = Parlour(database, journal=found)
        await parlour.say("delete all tasks", request_id="r1")
        done = await parlour.say("yes delete all", request_id="r2")
        await parlour.aclose()

    assert done.response == "Done! I've deleted 2 tasks."


@pytest.mark.requirement("CHAT-KEYED", "CHAT-CONFIRM")
async def test_an_old_yes_that_is_sent_again_does_not_answer_a_newer_question(
    database: Database, tmp_path: Path
) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        parlour = Parlour(database, journal=journal)
        parlour.add("buy milk", "buy eggs")
        await parlour.say("delete milk")
        await parlour.say("yes delete", request_id="old")
        await parlour.say("delete eggs")

        await parlour.say("yes delete", request_id="old")
        with owned_session(database.session, "ana") as session:
            asked = ConfirmationStore(session, "ana", "talk").open()
        await parlour.aclose()

    assert asked is not None
    assert asked.status == ApprovalStatus.PENDING
    assert parlour.titles() == ["buy eggs"]


@pytest.mark.requirement("CHAT-KEYED", "CHAT-CONFIRM")
def test_a_request_that_comes_twice_at_once_is_heard_once(any_database: Database) -> None:
    def hear(_: int) -> bool:
        with owned_session(any_database.session, "ana", writes=True) as session:
            return ConfirmationStore(session, "ana", "talk").check_message("yes", "r1")

    with owned_session(any_database.session, "ana", writes=True) as session:
        ConfirmationStore(session, "ana", "talk").ask("delete_task", "binding", "yes", "Really?")
    with ThreadPoolExecutor(4) as threads:
        heard = list(threads.map(hear, range(8)))

    assert sorted(heard) == [False] * 7 + [True]


async def _crash_while_asked(message: str, last_write: int, database: Database, file: Path) -> None:
    journal = SqliteJournal(file)
    journal.on_write = _pull_the_plug_at(last_write)
    doomed = Parlour(database, journal=journal)
    with suppress(PulledPlug):
        await doomed.runner.run(doomed.context(), message, request_id="r1")
    await doomed.aclose()
    await journal.aclose()


def _pull_the_plug_at(number: int) -> Callable[[str, bool], None]:
    writes = count(1)

    def pull(_name: str, _before: bool) -> None:
        if next(writes) >= number:
            raise PulledPlug

    return pull


def _add_then_say(request: Request) -> Any:
    return reply("Done!") if request.messages[-1].tool_call_id else call("add_task", title="one")


@pytest.mark.requirement("CHAT-MANY-USERS", "004-ISOLATION-ACCESS")
async def test_a_hundred_users_talk_at_once_and_none_sees_another(parlour: Parlour) -> None:
    users = [f"user-{n}" for n in range(100)]

    async def talk(user: str) -> list[str]:
        said = (f"add secret of {user}", "show my tasks")
        return [(await parlour.say(message, user)).response for message in said]

    parlour.add("kept by everybody", user="nobody")
    answers = await asyncio.gather(*map(talk, users))

    for user, said in zip(users, answers, strict=True):
        assert said == [
            f"Got it! Added 'secret of {user}' to your list. Anything else?",
            f"1. ☐ secret of {user}",
        ]
    assert parlour.titles("nobody") == ["kept by everybody"]
