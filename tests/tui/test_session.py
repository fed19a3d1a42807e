"""Conversations with real runs behind them: started, continued, stopped, resumed, forked, and decided for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maverick import RunConfig
from maverick.agents.discovery import DiscoveredAgent, Origin
from maverick.exceptions import AgentNotFoundError, AuthenticationError, InvalidInputError, RunChangedError
from maverick.journal import RunStatus, SqliteJournal
from maverick.journal.conversations import ConversationList
from maverick.loop import TerminateReason
from maverick.model import Message, Request, Role, Usage
from maverick.providers.scripted import TurnLike
from maverick.runtime import ApprovalAnswer
from maverick.runtime.consent import Grants, GrantScope
from maverick.testing import call, calls, fail, reply
from maverick.tui.block import ToolUse, Words
from maverick.tui.conversation import Status
from maverick.tui.questions import Answer, Question
from maverick.tui.session import Session
from tui.desk import PATIENCE, Desk, editor, eventually, fill, ids


class Person:
    """Answers questions, in the order given; ``None`` puts one off."""

    def __init__(self, *answers: bool | None) -> None:
        self.asked: list[Question] = []
        self.scope: GrantScope | None = None
        self._answers = list(answers)

    async def ask(self, question: Question) -> Answer | None:
        self.asked.append(question)
        if not self._answers:
            await asyncio.Event().wait()
        answer = self._answers.pop(0)
        return None if answer is None else (ApprovalAnswer(approved=answer), self.scope)


def session(desk: Desk, *answers: bool | None, agent: str = "editor") -> tuple[Session, Person]:
    person = Person(*answers)
    grants = Grants(desk.folder)
    return Session(desk, agent, person.ask, lambda: grants, ids().__next__), person


def by_turn(*turns: TurnLike) -> Callable[[Request], TurnLike]:
    """Answers by how far the conversation is."""
    return lambda request: turns[sum(message.role is Role.ASSISTANT for message in request.messages)]


def said(of: Session) -> list[str]:
    return [block.text for block in of.model.blocks if isinstance(block, Words)]


async def stop_when(of: Session, condition: Callable[[], object]) -> None:
    await eventually(condition)
    of.stop()


def tools(of: Session) -> list[ToolUse]:
    return [block for block in of.model.blocks if isinstance(block, ToolUse)]


EDIT = call("edit", path="a.py", old="x", new="y")


@pytest.mark.requirement("007-TUI")
async def test_a_run_is_shown_as_it_goes_on_and_the_next_one_continues_it() -> None:
    desk = Desk([reply("Hello!"), reply("Again!")], remark="offline model: no key")
    talk, _ = session(desk)

    await talk.start({"prompt": "Hi"})
    await talk.start({"prompt": "More"})

    assert said(talk) == ["Hi", "Hello!", "More", "Again!"]
    assert talk.model.status is Status.COMPLETE
    assert (talk.run_id, talk.model_name) == ("run_2", "scripted:small")
    assert [message.content for message in desk.client.requests[1].messages] == ["Hi", "Hello!", "More"]
    assert [block.text for block in talk.model.blocks].count("offline model: no key") == 1


@pytest.mark.requirement("007-TUI-APPROVAL")
@pytest.mark.parametrize(("answer", "outcome"), [(True, "finished"), (False, "denied")])
async def test_a_live_run_asks_and_goes_on_with_the_answer(answer: bool, outcome: str) -> None:
    talk, person = session(Desk([EDIT, reply("Done.")]), answer)

    await talk.start({"prompt": "Edit it"})

    (question,) = person.asked
    assert (question.agent, question.tool_name, question.arguments["path"]) == ("editor", "edit", "a.py")
    assert [tool.outcome for tool in tools(talk)] == [outcome]
    assert talk.model.status is Status.COMPLETE


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_what_is_put_off_is_asked_again_when_the_person_wants() -> None:
    talk, person = session(Desk([EDIT, reply("Done.")]), None, True)

    running = asyncio.create_task(talk.start({"prompt": "Edit it"}))
    await eventually(lambda: person.asked)
    waited = talk.is_live
    await asyncio.sleep(0)
    await talk.decide()
    async with asyncio.timeout(PATIENCE):
        await running

    assert waited
    assert len(person.asked) == 2
    assert talk.model.status is Status.COMPLETE


@pytest.mark.requirement("007-TUI-STOP")
async def test_stopping_keeps_the_partial_answer_and_resuming_goes_on() -> None:
    desk = Desk(lambda request: reply("one two three", pace=0 if desk.client.requests[1:] else 0.2))
    talk, _ = session(desk)

    async with asyncio.TaskGroup() as group:
        group.create_task(talk.start({"prompt": "Count"}))
        group.create_task(stop_when(talk, lambda: "one" in said(talk)[-1]))
    stopped = (talk.model.status, talk.model.reason, said(talk)[-1][:3])
    counted = talk.model.gauge.usage.total_tokens
    await talk.resume()

    assert stopped == (Status.STOPPED, TerminateReason.ABORTED, "one")
    assert counted > 0, "what was cut off is counted too"
    assert (talk.model.status, said(talk)[-1]) == (Status.COMPLETE, "one two three")
    assert (await desk.journal.get("run_1")).status is RunStatus.COMPLETE


@pytest.mark.requirement("007-TUI-STOP")
async def test_a_tool_that_never_answers_is_stopped_with_its_run() -> None:
    talk, _ = session(Desk([call("ring", name="Ana")]))

    async with asyncio.TaskGroup() as group:
        group.create_task(talk.start({"prompt": "Ring Ana"}))
        group.create_task(stop_when(talk, lambda: tools(talk)))

    assert [tool.outcome for tool in tools(talk)] == ["cancelled"]
    assert talk.model.can_resume


@pytest.mark.requirement("007-TUI-APPROVAL")
@pytest.mark.parametrize(("answer", "outcome"), [(True, "finished"), (False, "denied")])
async def test_a_parked_run_is_decided_through_its_journal_and_goes_on(
    answer: bool, outcome: str, tmp_path: Path
) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        desk = Desk(
            by_turn(EDIT, call("edit", path="b.py", old="x", new="y"), reply("Done.")), journal=journal
        )
        async with desk.executor(desk.prepare("editor").definition, None, None) as executor:
            await executor.execute(
                desk.prepare("editor").definition, inputs={"prompt": "Edit"}, run_id="parked"
            )
        talk, person = session(desk, answer, answer)
        await talk.open("parked")
        opened = talk.model.status
        await talk.decide()

        assert opened is Status.WAITING
        assert [question.arguments["path"] for question in person.asked] == ["a.py", "b.py"]
        assert [tool.outcome for tool in tools(talk)] == [outcome, outcome]
        assert talk.model.status is Status.COMPLETE
        decided = await journal.list_approvals(run_id="parked", state="all")
        assert {(one.decided_by, one.approved) for one in decided} == {("ana", answer)}


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_a_parked_run_that_is_put_off_stays_parked() -> None:
    desk = Desk(by_turn(EDIT, reply("Done.")))
    async with desk.executor(desk.prepare("editor").definition, None, None) as executor:
        await executor.execute(desk.prepare("editor").definition, inputs={"prompt": "Edit"}, run_id="parked")
    talk, _ = session(desk, None)
    await talk.open("parked")

    await talk.resume()

    assert talk.model.status is Status.WAITING
    assert (await desk.journal.get("parked")).status is RunStatus.WAITING


async def test_nothing_is_decided_where_nothing_is_asked() -> None:
    talk, _ = session(Desk())

    with pytest.raises(InvalidInputError, match="No tool call is waiting"):
        await talk.decide()


@pytest.mark.requirement("007-TUI")
@pytest.mark.parametrize(
    ("run_id", "status", "last"),
    [
        ("kept", Status.COMPLETE, "It now says “Hello, …!”, which is warmer than “Hi”."),
        ("left", Status.LEFT, "I look at the file first."),
        ("stopped", Status.STOPPED, "I look at the"),
    ],
)
async def test_a_kept_run_is_told_again_as_far_as_it_came(run_id: str, status: Status, last: str) -> None:
    desk = Desk()
    await fill(desk.journal)
    talk, _ = session(desk)

    await talk.open(run_id)

    assert (said(talk)[0], said(talk)[-1]) == ("Greet people more warmly.", last)
    assert (talk.run_id, talk.model.status) == (run_id, status)
    assert talk.model.gauge.window == 8_000


@pytest.mark.requirement("007-TUI-GAUGE")
async def test_a_conversation_that_is_opened_again_has_used_what_all_its_runs_have() -> None:
    usage = Usage(100, 20, cost_usd=0.5)
    desk = Desk([reply("Hello!", usage=usage), reply("Again!", usage=usage)])
    talk, _ = session(desk)
    await talk.start({"prompt": "Hi"})
    await talk.start({"prompt": "More"})
    listed = ConversationList(desk.journal)
    await listed.load()

    await (again := session(desk)[0]).open("run_2", listed.earlier_runs("run_2"))

    assert again.model.gauge.total == talk.model.gauge.total
    assert again.model.gauge.total.cost_usd == 1.0


@pytest.mark.parametrize(
    ("turn", "error", "hint"),
    [
        (
            call("look", path="a"),
            "The run was stopped at its limit of 1 (max_turns).",
            "Send a message to continue",
        ),
        (fail(AuthenticationError("The key is wrong.")), "The key is wrong.", "/resume tries again"),
    ],
)
async def test_a_run_that_was_stopped_says_what_really_helps(turn: Any, error: str, hint: str) -> None:
    desk = Desk([turn])
    limited = replace(editor, run_config=RunConfig(max_turns=1))
    desk.found[0] = DiscoveredAgent("editor", limited, Origin.PROJECT, "editor.md")
    talk, _ = session(desk)

    await talk.start({"prompt": "Look"})

    *_, said_of_error, stopped = [block.text for block in talk.model.blocks]
    assert said_of_error == error
    assert stopped.endswith(f". {hint}")


async def test_a_kept_run_is_continued_with_all_that_was_said() -> None:
    desk = Desk([reply("Gladly.")])
    await fill(desk.journal)
    talk, _ = session(desk)
    await talk.open("kept")

    await talk.start({"prompt": "Thanks"})

    messages: Sequence[Message] = desk.client.requests[0].messages
    assert (messages[0].content, messages[-1].content) == ("Greet people more warmly.", "Thanks")


async def test_a_run_that_has_not_ended_takes_no_new_prompt() -> None:
    desk = Desk()
    await fill(desk.journal)
    talk, _ = session(desk)
    await talk.open("left")

    with pytest.raises(InvalidInputError, match="has not finished"):
        await talk.start({"prompt": "Thanks"})


@pytest.mark.requirement("007-TUI-FORK")
async def test_a_fork_has_what_was_before_the_turn_and_the_new_words() -> None:
    desk = Desk([reply("As you like.")])
    await fill(desk.journal)
    talk, _ = session(desk)

    await talk.fork(2, "Leave it as it is.", "kept")

    assert said(talk) == [
        "Greet people more warmly.",
        "Where is the greeting?",
        "I look at the file first.",
        "Leave it as it is.",
        "As you like.",
    ]
    assert talk.run_id == "run_1"
    assert (await desk.journal.get("run_1")).forked_from == "kept"
    assert desk.client.requests[0].messages[-1].content == "Leave it as it is."


@pytest.mark.requirement("007-TUI-FORK")
async def test_a_fork_from_the_first_turn_replaces_the_persons_words_now_and_when_told_again() -> None:
    desk = Desk([reply("Coldly.")])
    await fill(desk.journal)
    talk, _ = session(desk)

    await talk.fork(1, "Greet people coldly.", "kept")
    again, _ = session(desk)
    await again.open("run_1")

    assert said(talk) == said(again) == ["Greet people coldly.", "Coldly."]


@pytest.mark.requirement("P10")
async def test_a_run_of_an_agent_that_has_changed_goes_on_only_when_the_person_says_so() -> None:
    desk = Desk([call("ring", name="Ana"), reply("Done.")])
    talk, _ = session(desk)
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.start({"prompt": "Ring Ana"}))
        group.create_task(stop_when(talk, lambda: tools(talk)))
    talk.agent = "reporter"

    with pytest.raises(RunChangedError):
        await talk.resume()
    await talk.resume(accept_changes=True)

    assert talk.model.status is Status.COMPLETE


async def test_a_run_that_came_to_its_end_is_not_resumed() -> None:
    talk, _ = session(Desk([reply("Done.")]))
    await talk.start({"prompt": "Hi"})

    with pytest.raises(InvalidInputError, match="nothing to resume"):
        await talk.resume()


@pytest.mark.parametrize(("agent", "error"), [("nobody", AgentNotFoundError), ("greeter", InvalidInputError)])
async def test_an_agent_that_can_not_be_run_here_is_an_error_that_says_why(
    agent: str, error: type[Exception]
) -> None:
    talk, _ = session(Desk(), agent=agent)

    with pytest.raises(error):
        await talk.start({"prompt": "Hi"})
    assert talk.model.status is Status.IDLE


async def test_two_calls_of_one_turn_are_asked_about_one_after_the_other() -> None:
    both = calls(EDIT, call("edit", path="b.py", old="x", new="y"))
    talk, person = session(Desk([both, reply("Done.")]), True, False)

    await talk.start({"prompt": "Edit both"})

    assert [question.arguments["path"] for question in person.asked] == ["a.py", "b.py"]
    assert [tool.outcome for tool in tools(talk)] == ["finished", "denied"]
