"""Questions over the screen: answered, put off, taken away."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Button, Label

from maverick.journal import RunStatus
from maverick.runtime.consent import CallPreview, GrantScope, preview_call
from maverick.testing import reply
from maverick.tui.app import MaverickApp
from maverick.tui.approval import ApprovalDialog
from maverick.tui.block import ToolState
from maverick.tui.conversation import Status
from maverick.tui.dialogs import TextDialog
from maverick.tui.prompt import PromptBox
from maverick.tui.questions import Question
from tui.desk import Desk
from tui.screen import EDIT, Screen, screen

pytestmark = pytest.mark.requirement("007-TUI-KEYS")


@pytest.mark.requirement("007-TUI-APPROVAL")
@pytest.mark.parametrize(("key", "outcome"), [("y", "finished"), ("n", "denied")])
async def test_y_and_n_answer_what_is_asked(key: str, outcome: str) -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press(key)
        await at.until(lambda: at.status is Status.COMPLETE)

        assert [tool.outcome for tool in at.tools()] == [outcome]
        assert not isinstance(at.app.screen, ApprovalDialog)


@pytest.mark.requirement("007-TUI-APPROVAL")
@pytest.mark.parametrize("key", ["a", "p"])
async def test_a_and_p_allow_the_next_call_too_without_a_question_in_any_conversation(
    key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    async with screen([EDIT, reply("Done."), EDIT, reply("Again.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press(key, "down", "enter", key)  # another key than Enter takes it back
        asked = isinstance(at.app.screen, ApprovalDialog)
        await at.press("enter")
        await at.until(lambda: at.status is Status.COMPLETE)
        await at.send("/new")
        await at.send("once more")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert asked
        assert [tool.outcome for tool in at.tools()] == ["finished"]
        assert (tmp_path / ".maverick" / "grants.json").exists() == (key == "p")


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_w_denies_with_a_reason_that_the_model_is_told() -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("w")
        await at.until(lambda: isinstance(at.app.screen, TextDialog))
        await at.press(*"later", "enter")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert [(tool.outcome, tool.result) for tool in at.tools()] == [
            ("denied", "Not run: denied by the user. later")
        ]


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_e_allows_the_call_with_other_arguments_and_asks_again_about_what_is_no_json() -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        for typed in ("nonsense", json.dumps({**EDIT.arguments, "path": "other.py"})):
            await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
            await at.press("e")
            await at.until(lambda: isinstance(at.app.screen, TextDialog))
            at.app.screen.query_one(PromptBox).text = typed
            await at.press("enter")
            await at.until(lambda: not isinstance(at.app.screen, TextDialog))
        await at.until(lambda: at.status is Status.COMPLETE)

        assert [tool.outcome for tool in at.tools()] == ["finished"]
        assert "with other arguments than yours" in at.desk.client.requests[1].messages[-1].content


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_what_is_typed_while_the_agent_works_is_heard_before_its_next_turn() -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("escape")
        await at.until(lambda: not isinstance(at.app.screen, ApprovalDialog))
        await at.send("and be quick")
        await at.send("/approve")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("y")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert at.desk.client.requests[1].messages[-1].content == "and be quick"


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_a_question_can_be_answered_with_the_buttons() -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("tab", "enter")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert [tool.outcome for tool in at.tools()] == ["finished"]


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_escape_puts_a_question_off_and_a_command_asks_it_again() -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("escape")
        await at.until(lambda: not isinstance(at.app.screen, ApprovalDialog))
        put_off, status, told = [tool.state for tool in at.tools()], at.status, at.remarks()
        await at.press(*"/appr", "enter")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        again = at.status
        await at.press("y")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert put_off == [ToolState.ASKED]
        assert (status, again) == (Status.WAITING, Status.RUNNING)
        assert "waiting for your approval: /approve asks you" in told


@pytest.mark.requirement("007-TUI-APPROVAL")
@pytest.mark.parametrize("key", ["s", "ctrl+c"])
async def test_stopping_while_something_is_asked_takes_the_question_away(key: str) -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press(key)
        await at.until(lambda: at.status is Status.STOPPED)

        assert not isinstance(at.app.screen, ApprovalDialog)
        assert "/approve" not in at.remarks()


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_a_question_that_has_just_appeared_takes_no_key_a_person_was_typing() -> None:
    desk = Desk([EDIT, reply("Done.")])
    app = MaverickApp(desk, "editor", grace=3_600)
    async with app.run_test() as pilot:
        at = Screen(desk, app, pilot)
        await at.send("edit it")
        await at.until(lambda: isinstance(app.screen, ApprovalDialog))
        await at.press("y", "a", "enter", "p", "enter", "n", "escape")

        assert isinstance(app.screen, ApprovalDialog)
        assert [tool.state for tool in at.tools()] == [ToolState.ASKED]


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_a_key_answers_only_after_a_pause_in_typing_however_long_the_question_is_there() -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        dialog = at.app.screen
        assert isinstance(dialog, ApprovalDialog)
        dialog._grace = 100

        async def press(key: str, after: float) -> None:
            pressed = Key(key, key if len(key) == 1 else "\r")
            pressed.time = at_time = dialog._typed_at + after
            at.app.post_message(pressed)
            await at.until(lambda: dialog._typed_at == at_time)

        await press("x", 1_000)
        for key in ("y", "p", "enter", "a", "enter"):
            await press(key, 99)
        typed = [tool.state for tool in at.tools()]
        await press("y", 101)
        await at.until(lambda: at.status is Status.COMPLETE)

        assert typed == [ToolState.ASKED]
        assert [tool.outcome for tool in at.tools()] == ["finished"]


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_a_long_question_is_scrolled_and_its_buttons_stay_in_view() -> None:
    async with screen() as at:
        preview = CallPreview("edit", "Edit " + "a/" * 60, tuple(map(str, range(200))), "", "edits " * 20)
        scopes = tuple(GrantScope)
        question = Question("editor", "edit", {}, preview, "the folder is not trusted " * 5, scopes)
        await at.app.push_screen(ApprovalDialog(question, 0))
        arguments = at.app.screen.query_one(".arguments")
        await at.until(lambda: arguments.max_scroll_y)  # it is drawn
        await at.press("pagedown")
        await at.until(lambda: arguments.scroll_offset.y)
        shown = at.app.screen.query_one(".dialog").content_region

        assert arguments.scroll_offset.y > 0
        for part in (*at.app.screen.query(Button), at.app.screen.query_one("#hint")):
            assert shown.contains_region(part.region), part


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_a_decides_for_a_parked_run_and_it_goes_on() -> None:
    async with screen(lambda request: reply("Done.") if len(request.messages) > 1 else EDIT) as at:
        async with at.desk.executor(at.desk.prepare("editor").definition, None, None) as executor:
            await executor.execute(
                at.desk.prepare("editor").definition, inputs={"prompt": "Edit"}, run_id="parked"
            )
        await at.send("/reload")
        await at.open()
        opened = at.status
        await at.send("/approve")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("y")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert opened is Status.WAITING
        assert (await at.desk.journal.get("parked")).status is RunStatus.COMPLETE


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_leaving_while_a_parked_run_is_asked_about_leaves_it_parked() -> None:
    async with screen(lambda request: EDIT) as at:
        definition = at.desk.prepare("editor").definition
        async with at.desk.executor(definition, None, None) as executor:
            await executor.execute(definition, inputs={"prompt": "Edit"}, run_id="parked")
        await at.send("/reload")
        await at.open()
        await at.send("/approve")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.app.action_quit()

        assert at.app.stopped == []
        assert (await at.desk.journal.get("parked")).status is RunStatus.WAITING


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_two_conversations_ask_one_after_the_other() -> None:
    async with screen([EDIT, EDIT, reply("Done."), reply("Done.")]) as at:
        await at.send("first")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        first = at.app.session
        await at.press("escape", "ctrl+n")
        second = at.app.session
        await at.send("second")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("y")
        await at.until(lambda: second.model.status is Status.COMPLETE)

        assert first.is_live
        assert len(at.app.screen_stack) == 1


@pytest.mark.requirement("MCP-ELICITATION")
async def test_a_form_is_filled_in_field_by_field_and_escape_goes_back_to_the_question() -> None:
    fields = {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer"},
        "meals": {"type": "array", "items": {"type": "string", "enum": ["tea", "soup"]}},
        "wakes": {"type": "boolean"},
        "note": {"type": "string"},
    }
    suggested = {"name": None, "age": None, "meals": ["tea", "soup"], "wakes": True, "note": None}
    preview = preview_call("answer to shop: Who books?", suggested)
    form = {"type": "object", "properties": fields, "required": ["name"]}
    question = Question("editor", "answer to shop: Who books?", suggested, preview, form=form)
    async with screen() as at:

        def told() -> str:
            return str(at.app.screen.query_one(".why", Label).content)

        asking = asyncio.create_task(at.app._ask(at.app.session, question))
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("y", "escape")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("y", "enter", "enter", "enter", "enter", "enter")
        empty = told()
        await at.press(*"Ana", "enter", *"old", "enter", "enter", "enter", "enter")
        wrong = told()
        await at.press("backspace", "backspace", "backspace", *"30", "enter", "enter", "enter", "enter")
        answer = await asking

    assert (empty, wrong) == ("Your name: it has to be filled in", "age: expected a whole number")
    assert answer is not None
    given = {"name": "Ana", "age": 30, "meals": ["tea", "soup"], "wakes": True}
    assert (answer[0].approved, answer[0].arguments) == (True, given)
