"""Every key, pressed on the screen as a person would."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from maverick.exceptions import JournalError, NetworkError
from maverick.journal import RunStatus
from maverick.providers.scripted import Script
from maverick.testing import call, fail, reply
from maverick.tui.app import MaverickApp
from maverick.tui.approval_dialog import ApprovalDialog
from maverick.tui.block import ToolState, ToolUse, Words
from maverick.tui.conversation import Status
from maverick.tui.conversation_view import ConversationView
from maverick.tui.fork_dialog import ForkDialog
from maverick.tui.help_overlay import HelpOverlay
from maverick.tui.inputs_dialog import InputsDialog
from maverick.tui.keys import ANYWHERE, CONVERSATION, GROUPS, PROMPT
from maverick.tui.prompt_box import PromptBox
from maverick.tui.search_bar import SearchBar
from maverick.tui.sidebar import Sidebar
from tui.desk import Desk, fill, keep, kept_entries, until

EDIT = call("edit", path="a.py", old="x", new="y")


class Screen:
    """The screen while a test uses it."""

    def __init__(self, desk: Desk, app: MaverickApp, pilot: Pilot[Any]) -> None:
        self.desk = desk
        self.app = app
        self._pilot = pilot

    @property
    def view(self) -> ConversationView:
        return self.app.screen_stack[0].query_one(ConversationView)

    @property
    def prompt(self) -> PromptBox:
        return self.app.screen_stack[0].query_one(PromptBox)

    @property
    def status(self) -> Status:
        return self.app.session.model.status

    def said(self) -> list[str]:
        return [block.text for block in self.app.session.model.blocks if isinstance(block, Words)]

    def remarks(self) -> str:
        return "\n".join(block.text for block in self.app.session.model.blocks)

    def tools(self) -> list[ToolUse]:
        return [block for block in self.app.session.model.blocks if isinstance(block, ToolUse)]

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def send(self, text: str) -> None:
        """Write a prompt and send it."""
        await self.press(*("space" if key == " " else key for key in text), "enter")

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self._pilot, condition)

    async def open(self, place: int = 0) -> None:
        """Open a run of the list, and go to the conversation."""
        self.app.query_one("#runs", OptionList).focus()
        await self.press("home", *["down"] * place, "enter")
        await self.until(lambda: self.app.session.run_id)
        await self.until(lambda: self.app.session.model.blocks)

    async def click(self, line: int) -> None:
        await self._pilot.click(ConversationView, offset=(5, line))


@asynccontextmanager
async def screen(script: Script = (), agent: str = "editor", *, kept: bool = False) -> AsyncIterator[Screen]:
    desk = Desk(script)
    if kept:
        await fill(desk.journal)
    app = desk.app(agent)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        yield Screen(desk, app, pilot)


pytestmark = pytest.mark.requirement("007-TUI-KEYS")


async def test_enter_sends_what_is_written_whole_however_fast_it_came() -> None:
    async with screen([reply("Hello!")]) as at:
        await at.send("hello there")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert at.said() == ["hello there", "Hello!"]
        assert at.prompt.text == ""


async def test_ctrl_j_begins_a_new_line_and_pasted_lines_stay_lines() -> None:
    async with screen([reply("Hello!")]) as at:
        await at.press("a", "ctrl+j", "b")
        at.prompt.insert("\nc")
        await at.press("enter")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert at.said()[0] == "a\nb\nc"


async def test_an_empty_prompt_is_not_sent_and_none_is_sent_while_a_run_goes_on() -> None:
    async with screen([call("ring", name="Ana")]) as at:
        await at.press("enter")
        nothing = at.said()
        await at.send("ring Ana")
        await at.until(at.tools)
        await at.send("and Bo")

        assert nothing == []
        assert at.said() == ["ring Ana"]
        assert at.prompt.text == "and Bo"  # it is still there to be sent


@pytest.mark.requirement("007-TUI-STOP")
@pytest.mark.parametrize("keys", [("ctrl+c",), ("escape", "s")])
async def test_ctrl_c_and_s_stop_the_run_and_r_resumes_it(keys: tuple[str, ...]) -> None:
    async with screen([call("ring", name="Ana"), reply("Nobody there.")]) as at:
        await at.send("ring")
        await at.until(lambda: [tool for tool in at.tools() if tool.state is ToolState.RUNNING])
        await at.press(*keys)
        await at.until(lambda: at.status is Status.STOPPED and not at.app.session.is_live)
        await at.press("escape", "r")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert at.said() == ["ring", "Nobody there."]


async def test_ctrl_c_without_a_run_says_how_to_leave() -> None:
    async with screen() as at:
        await at.press("ctrl+c")

        assert "Ctrl-Q" in next(iter(at.app._notifications)).message


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
async def test_a_question_can_be_answered_with_the_buttons() -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("tab", "enter")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert [tool.outcome for tool in at.tools()] == ["finished"]


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_escape_puts_a_question_off_and_a_asks_it_again() -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("escape")
        await at.until(lambda: not isinstance(at.app.screen, ApprovalDialog))
        put_off = [tool.state for tool in at.tools()]
        await at.press("escape", "a")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("y")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert put_off == [ToolState.ASKED]


@pytest.mark.requirement("007-TUI-APPROVAL")
@pytest.mark.parametrize("key", ["s", "ctrl+c"])
async def test_stopping_while_something_is_asked_takes_the_question_away(key: str) -> None:
    async with screen([EDIT, reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press(key)
        await at.until(lambda: at.status is Status.STOPPED)

        assert not isinstance(at.app.screen, ApprovalDialog)


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_a_question_that_has_just_appeared_takes_no_key_a_person_was_typing() -> None:
    desk = Desk([EDIT, reply("Done.")])
    app = MaverickApp(desk, "editor", grace=3_600)
    async with app.run_test() as pilot:
        at = Screen(desk, app, pilot)
        await at.send("edit it")
        await at.until(lambda: isinstance(app.screen, ApprovalDialog))
        await at.press("y", "n", "escape")

        assert isinstance(app.screen, ApprovalDialog)
        assert [tool.state for tool in at.tools()] == [ToolState.ASKED]


@pytest.mark.requirement("007-TUI-APPROVAL")
async def test_a_decides_for_a_parked_run_and_it_goes_on() -> None:
    async with screen(lambda request: reply("Done.") if len(request.messages) > 1 else EDIT) as at:
        async with at.desk.executor(at.desk.prepare("editor").definition, None) as executor:
            await executor.execute(
                at.desk.prepare("editor").definition, inputs={"prompt": "Edit"}, run_id="parked"
            )
        await at.press("escape", "u")
        await at.open()
        opened = at.status
        await at.press("a")
        await at.until(lambda: isinstance(at.app.screen, ApprovalDialog))
        await at.press("y")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert opened is Status.WAITING
        assert (await at.desk.journal.get("parked")).status is RunStatus.COMPLETE


@pytest.mark.requirement("007-TUI-FORK")
async def test_f_forks_from_the_turn_at_the_cursor_with_other_words() -> None:
    async with screen([reply("Coldly, then.")], kept=True) as at:
        await at.open()
        await at.press("home", "f")
        dialog = at.app.screen
        assert isinstance(dialog, ForkDialog)
        offered = dialog.query_one(PromptBox).text
        dialog.query_one(PromptBox).text = "Greet people coldly."
        await at.press("enter")
        await at.until(lambda: at.status is Status.COMPLETE and at.app.session.run_id == "run_1")

        assert offered == "Greet people more warmly."
        assert at.said() == ["Greet people coldly.", "Coldly, then."]
        assert (await at.desk.journal.get("run_1")).forked_from == "kept"


@pytest.mark.requirement("007-TUI-FORK")
async def test_f_with_nothing_to_fork_says_so_and_escape_leaves_a_fork_be() -> None:
    async with screen(kept=True) as at:
        await at.press("escape", "f")
        told = at.remarks()
        await at.open()
        await at.press("f", "escape")
        await at.until(lambda: not isinstance(at.app.screen, ForkDialog))

        assert "no run to fork" in told
        assert at.app.session.run_id == "kept"


@pytest.mark.requirement("007-TUI-SEARCH")
async def test_slash_searches_what_is_folded_too_and_enter_and_arrows_go_round() -> None:
    async with screen(kept=True) as at:
        await at.open()
        folded = at.tools()[0].folded
        await at.press("slash", *"greet")
        bar = at.app.query_one(SearchBar)
        await at.until(lambda: " of " in str(bar.query_one("#places").render()))
        first, unfolded = at.view.cursor, not at.tools()[0].folded
        await at.press("up")
        above = at.view.cursor
        await at.press("down")
        back = at.view.cursor
        await at.press("enter")
        around = at.view.cursor
        await at.press("escape")

        assert (folded, unfolded) == (True, True)
        assert above < first == back
        assert around < above  # from the last place to the first
        assert not bar.display
        assert at.tools()[0].folded  # as it was before
        assert at.app.focused is at.view


async def test_a_search_that_finds_nothing_says_so() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("slash", *"zzz")
        bar = at.app.query_one(SearchBar)
        await at.until(lambda: "nothing found" in str(bar.query_one("#places").render()))


@pytest.mark.requirement("007-TUI-FOLD")
async def test_enter_and_a_click_unfold_a_tool_call_and_e_does_so_with_all() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("home", *["down"] * 6)
        on = at.view.block
        await at.press("enter")
        unfolded = at.tools()[0].folded
        await at.press("space")
        folded = at.tools()[0].folded
        await at.press("e")
        none = [tool.folded for tool in at.tools()]
        await at.press("e")
        every = [tool.folded for tool in at.tools()]
        await at.press("e", "home")
        await at.click(at.view._layout.top_of(at.tools()[0]))
        clicked = at.tools()[0].folded

        assert on is at.tools()[0]
        assert (unfolded, folded) == (False, True)
        assert none == [True, True]  # one was unfolded, so all are folded
        assert every == [False, False]
        assert clicked is False or clicked is True
        assert at.view.block is at.tools()[0]


async def test_arrows_pages_home_and_end_move_the_cursor() -> None:
    async with screen(kept=True) as at:
        await at.open()
        last = at.view.cursor
        places = []
        for key in ("home", "down", "j", "up", "k", "pagedown", "pageup", "end", "g", "G"):
            await at.press(key)
            places.append(at.view.cursor)

        assert places[:5] == [0, 1, 2, 1, 0]
        assert 0 < places[5] <= last
        assert places[6:] == [0, last, 0, last]


async def test_t_hides_the_models_thinking() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("home")
        tall = at.view.virtual_size.height
        await at.press("t")
        short = at.view.virtual_size.height
        await at.press("t")

        assert short < tall == at.view.virtual_size.height


async def test_y_copies_what_is_at_the_cursor() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("home", "y")

        assert at.app.clipboard == "Greet people more warmly."


async def test_b_hides_and_shows_the_lists() -> None:
    async with screen() as at:
        width = at.view.size.width
        await at.press("escape", "b")
        wide, shown = at.view.size.width, at.app.query_one(Sidebar).display
        await at.press("b")

        assert (wide > width, shown) == (True, False)
        assert at.view.size.width == width


async def test_u_looks_for_agents_and_runs_again() -> None:
    async with screen() as at:
        listed = at.app.query_one("#agents", OptionList)
        at.desk.found.pop()
        at.desk.unreadable.append("broken.md, line 2: no name.")
        await keep(at.desk.journal, kept_entries())
        await at.press("escape", "u")

        assert listed.option_count == 2
        assert at.app.query_one("#runs", OptionList).option_count == 1
        assert "broken.md, line 2" in at.remarks()


async def test_n_begins_a_new_conversation_and_i_goes_to_the_prompt() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("n")
        fresh, focused = at.app.session.model.blocks, at.app.focused
        await at.press("escape", "i")

        assert fresh == []
        assert focused is at.prompt
        assert at.app.focused is at.prompt


async def test_an_agent_is_chosen_in_the_list_and_asked_for_its_inputs() -> None:
    async with screen([reply("Rain.")]) as at:
        at.app.query_one("#agents", OptionList).focus()
        await at.press("end", "enter")
        chosen = at.app.session.agent
        await at.press("escape", "n")
        assert isinstance(at.app.screen, InputsDialog)
        await at.press(*"Brest", "enter", "7", "enter")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert chosen == "reporter"
        assert at.said() == ["Report on Brest in 7 days.", "Rain."]


async def test_inputs_that_do_not_fit_are_told_and_escape_leaves_them_be() -> None:
    async with screen(agent="reporter") as at:
        await at.press("escape", "n", *"Brest", "enter", *"many", "enter")
        await at.until(lambda: "inputs.days" in at.remarks())
        await at.press("escape", "n", "escape")

        assert not isinstance(at.app.screen, InputsDialog)


async def test_tab_goes_from_part_to_part() -> None:
    async with screen() as at:
        parts = []
        for _ in range(4):
            assert at.app.focused is not None
            parts.append(at.app.focused.id)
            await at.press("tab")

        assert parts == ["prompt", "agents", "runs", "conversation"]


@pytest.mark.parametrize("key", ["f1", "question_mark"])
async def test_help_shows_every_key_there_is(key: str) -> None:
    async with screen() as at:
        await at.press("escape", key)
        assert isinstance(at.app.screen, HelpOverlay)
        await at.press("escape")

        assert not isinstance(at.app.screen, HelpOverlay)
    helped = {one.action for _, keys in GROUPS for one in keys}
    assert {one.action for one in (*ANYWHERE, *CONVERSATION, *PROMPT)} <= helped
    for one in ANYWHERE:
        name = one.action.removeprefix("app.")
        assert hasattr(MaverickApp, f"action_{name}"), name


@pytest.mark.parametrize("keys", [("ctrl+q",), ("escape", "q")])
async def test_leaving_stops_what_runs_and_says_which(keys: tuple[str, ...]) -> None:
    async with screen([call("ring", name="Ana")]) as at:
        await at.send("ring")
        await at.until(at.tools)
        await at.press(*keys)
        await at.until(lambda: at.app.stopped)

        assert at.app.stopped == ["run_1"]
        assert (await at.desk.journal.get("run_1")).status is RunStatus.STOPPED


@pytest.mark.requirement("007-TUI")
async def test_a_run_goes_on_while_another_conversation_is_looked_at() -> None:
    async with screen([call("ring", name="Ana")], kept=True) as at:
        await at.send("ring")
        await at.until(at.tools)
        live = at.app.session
        await at.press("escape", "u")
        at.app.query_one("#runs", OptionList).focus()
        ids = [one.run_id for one in at.app._runs.records]
        await at.press("home", *["down"] * ids.index("kept"), "enter")
        await at.until(lambda: at.app.session.run_id == "kept")
        elsewhere = live.is_live
        at.app.query_one("#runs", OptionList).focus()
        await at.press("home", *["down"] * ids.index("run_1"), "enter")
        await at.until(lambda: at.app.session is live)

        assert elsewhere


@pytest.mark.requirement("007-TUI")
async def test_a_run_that_another_process_works_on_is_read_on() -> None:
    async with screen() as at:
        entries = kept_entries()
        await keep(at.desk.journal, entries[:4], RunStatus.RUNNING, "")
        await at.press("escape", "u")
        await at.open()
        before = at.said()[-1]
        from maverick.journal.codec import encode_entry

        lease = await at.desk.journal.claim("kept")
        await at.desk.journal.append(
            lease, [encode_entry(entry) for entry in entries[4:]], RunStatus.COMPLETE
        )
        await at.press("u")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert before == "I look at the file first."
        assert at.said()[-1].startswith("It now says")


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_whatever_goes_wrong_is_told_in_the_conversation() -> None:
    async with screen([fail(NetworkError("No route to the model."))] * 4, agent="editor") as at:
        await at.send("hi")
        await at.until(lambda: at.status is Status.STOPPED)
        failed = at.remarks()
        at.app.session.agent = "nobody"
        await at.press("escape", "r")
        await at.until(lambda: "'nobody'" in at.remarks())

        assert "No route to the model." in failed


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_a_journal_that_can_not_be_read_is_told_and_the_screen_stays() -> None:
    async with screen() as at:

        async def broken(**_: object) -> list[Any]:
            raise JournalError("The disk is gone.")

        at.desk.journal.list_runs = broken  # type: ignore[method-assign] - a disk that fails
        await at.press("escape", "u")

        assert [one.message for one in at.app._notifications] == ["The disk is gone."]


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_a_mistake_in_the_program_ends_it_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = Desk().app()

    with pytest.raises(ZeroDivisionError):
        async with app.run_test() as pilot:
            app.call_later(lambda: 1 // 0)
            await pilot.pause()

    assert isinstance(app.failure, ZeroDivisionError)
    assert capsys.readouterr().err == ""


@pytest.mark.requirement("007-TUI-ERRORS")
async def test_a_mistake_in_a_tool_of_the_screen_is_told_and_the_screen_stays() -> None:
    async with screen() as at:

        def broken(name: str) -> Any:
            raise KeyError(name)

        at.desk.prepare = broken  # type: ignore[method-assign] - a workplace with a mistake in it
        await at.send("hi")
        await at.until(lambda: "KeyError" in at.remarks())

        assert at.app.failure is None


async def test_the_search_does_not_listen_to_other_inputs() -> None:
    async with screen(agent="reporter") as at:
        await at.press("escape", "n", *"Bre")

        assert at.app.screen.query(Input).first().value == "Bre"
        assert at.view._wanted == ""
