"""What goes wrong is shown in the screen, which stays."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from maverick import AgentDefinition
from maverick.agents.discovery import DiscoveredAgent, Origin
from maverick.exceptions import JournalError, NetworkError
from maverick.testing import ScriptedClient, call, fail, reply
from maverick.tui.approval import ApprovalDialog
from maverick.tui.conversation import Status
from tui.desk import INFO, Desk
from tui.screen import screen

WORDS = ["Where is the greeting?", "I look at the file first.", "Now I change it."]

pytestmark = pytest.mark.requirement("007-TUI-KEYS")


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_whatever_goes_wrong_is_told_in_the_conversation() -> None:
    async with screen([fail(NetworkError("No route to the model."))] * 4, agent="editor") as at:
        await at.send("hi")
        await at.until(lambda: at.status is Status.STOPPED)
        failed = at.remarks()
        at.app.session.agent = "nobody"
        await at.send("/resume")
        await at.until(lambda: "'nobody'" in at.remarks())

        assert "No route to the model." in failed
        assert at.app.failure is None


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_words_that_could_not_be_sent_are_still_there() -> None:
    async with screen(agent="greeter") as at:
        await at.send("hello")
        await at.until(lambda: "is a class" in at.remarks())

        assert at.prompt.text == "hello"


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_a_run_that_is_refused_before_it_begins_leaves_nothing_but_the_reason() -> None:
    async with screen() as at:
        at.desk.client = ScriptedClient(
            [reply("Hello!"), reply("Hello again!")], info=replace(INFO, effort=())
        )
        await at.send("hi")
        await at.until(lambda: at.status is Status.COMPLETE)
        at.desk.effort = "low"
        await at.send("again")
        await at.until(lambda: "does not take it" in at.remarks())
        shown, back, status, run_id = at.said(), at.prompt.text, at.status, at.app.session.run_id
        at.desk.effort = None
        await at.press("enter")
        await at.until(lambda: at.said()[-1:] == ["Hello again!"])

        assert (shown, back, status) == (["hi", "Hello!"], "again", Status.COMPLETE)
        assert run_id == "run_1", "it is no run that could be resumed"
        assert at.said() == ["hi", "Hello!", "again", "Hello again!"]


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_a_journal_that_can_not_be_read_is_told_once_and_the_screen_stays() -> None:
    async with screen() as at:

        async def broken(**_: object) -> list[Any]:
            raise JournalError("The disk is gone.")

        at.desk.journal.list_runs = broken  # type: ignore[method-assign] # a disk that fails
        await at.send("/reload")
        await at.send("/reload")

        assert [one.message for one in at.app._notifications] == ["The disk is gone."]


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_a_run_whose_agent_is_gone_can_be_read() -> None:
    async with screen([call("edit", path="a.py", old="x", new="y"), reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("y")
        await at.until(lambda: at.status is Status.COMPLETE)
        await at.send("/new")
        at.desk.found.pop(0)
        await at.send("/reload")
        await at.open()
        await at.until(at.said)

        assert at.said() == ["edit it", "Done."]
        assert [tool.decision for tool in at.tools()] == ["approved by you"]
        assert "'editor'" in at.remarks()


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_of_a_run_that_its_agent_would_have_gone_on_otherwise_with_the_beginning_is_told() -> None:
    async with screen(kept=True) as at:
        at.desk.found[0] = DiscoveredAgent(
            "editor", AgentDefinition("editor", "Has no tools."), Origin.HOME, ""
        )
        await at.open()
        await at.until(at.said)

        assert at.said() == ["Greet people more warmly.", *WORDS]
        assert "The agent has changed, so the rest cannot be shown" in at.remarks()


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_a_mistake_in_the_program_ends_it_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = Desk().app()

    async def use() -> None:
        async with app.run_test() as pilot:
            app.call_later(lambda: 1 // 0)
            await pilot.pause()

    with pytest.raises(ZeroDivisionError):
        await use()

    assert isinstance(app.failure, ZeroDivisionError)
    assert capsys.readouterr().err == ""


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_a_mistake_in_a_tool_of_the_screen_is_told_and_the_screen_stays() -> None:
    async with screen() as at:

        def broken(name: str, trace_id: str = "") -> Any:
            raise KeyError(name)

        at.desk.prepare = broken  # type: ignore[method-assign] # a bug
        await at.send("hi")
        await at.until(lambda: "KeyError" in at.remarks())

        assert at.app.failure is None
