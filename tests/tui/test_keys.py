"""Every key of the conversation and the prompt, pressed as a person would."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import Key, Paste

from maverick.testing import call, reply
from maverick.tui.app import MaverickApp
from maverick.tui.block import ToolState
from maverick.tui.conversation import Status
from maverick.tui.dialogs import ForkDialog, HelpDialog
from maverick.tui.keys import ALWAYS, CONVERSATION, GROUPS, PROMPT, TYPED
from maverick.tui.prompt import PromptBox, SearchBar
from tui.screen import screen

pytestmark = pytest.mark.requirement("007-TUI-KEYS")


async def test_enter_sends_what_is_written_whole_however_fast_it_came() -> None:
    async with screen([reply("Hello!")]) as at:
        for key in "hello":
            at.app.post_message(Key(key, key))
        at.app.post_message(Key("enter", "\r"))
        await at.until(lambda: at.status is Status.COMPLETE)

        assert at.said() == ["hello", "Hello!"]
        assert at.prompt.text == ""


async def test_a_key_of_the_line_at_the_bottom_can_be_clicked() -> None:
    async with screen() as at:
        await at.click_key("no key")
        assert len(at.app.screen_stack) == 1

        await at.click_key("Help")
        await at.until(lambda: isinstance(at.app.screen, HelpDialog))


async def test_ctrl_j_begins_a_new_line_and_pasted_lines_stay_lines() -> None:
    async with screen([reply("Hello!")]) as at:
        await at.press("a", "ctrl+j", "b", "alt+enter", "c")
        at.prompt.insert("\nd")
        await at.press("enter")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert at.said()[0] == "a\nb\nc\nd"


async def test_an_empty_prompt_is_not_sent_and_one_while_a_run_goes_on_is_left_for_its_agent() -> None:
    async with screen([call("ring", name="Ana")]) as at:
        await at.press("enter")
        nothing = at.said()
        await at.send("ring Ana")
        await at.until(at.tools)
        await at.send("and Bo")

        assert nothing == []
        assert at.said() == ["ring Ana"]
        assert (at.prompt.text, len(await at.desk.journal.waiting_words("run_1"))) == ("", 1)
        assert "queued: and Bo" in at.remarks()


@pytest.mark.requirement("007-TUI-STOP")
@pytest.mark.parametrize("keys", [("ctrl+c",), ("escape",), (*"/stop", "enter")])
async def test_escape_ctrl_c_and_a_command_stop_the_run_and_a_command_resumes_it(
    keys: tuple[str, ...],
) -> None:
    async with screen([call("ring", name="Ana"), reply("Nobody there.")]) as at:
        await at.send("ring")
        await at.until(lambda: [tool for tool in at.tools() if tool.state is ToolState.RUNNING])
        await at.press(*keys)
        await at.until(lambda: at.status is Status.STOPPED and not at.app.session.is_live)
        await at.send("/resume")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert at.said() == ["ring", "Nobody there."]


async def test_ctrl_c_clears_the_prompt_and_twice_in_a_row_quits() -> None:
    async with screen() as at:
        at.prompt.insert("never mind")
        await at.press("ctrl+c")
        cleared, told = at.prompt.text, [one.message for one in at.app._notifications]
        await at.press("ctrl+c")

        assert (cleared, told) == ("", ["Press Ctrl-C again to quit."])
        assert not at.app.is_running


async def test_ctrl_c_after_another_key_stops_the_run_and_does_not_quit() -> None:
    async with screen([call("ring", name="Ana"), reply("Nobody there.")]) as at:
        at.prompt.insert("never mind")
        await at.press("ctrl+c")
        await at.press(*"ring", "enter")
        await at.until(lambda: [tool for tool in at.tools() if tool.state is ToolState.RUNNING])
        await at.press("ctrl+c")
        await at.until(lambda: at.status is Status.STOPPED and not at.app.session.is_live)

        assert at.app.is_running
        await at.press("ctrl+c")
        assert not at.app.is_running


@pytest.mark.requirement("007-TUI-FORK")
async def test_fork_forks_from_the_turn_at_the_cursor_with_other_words() -> None:
    async with screen([reply("Coldly, then.")], kept=True) as at:
        await at.open()
        await at.press("home", *"/fork", "enter")
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
async def test_fork_with_nothing_to_fork_says_so_and_escape_leaves_a_fork_be() -> None:
    async with screen(kept=True) as at:
        await at.send("/fork")
        told = [one.message for one in at.app._notifications]
        await at.open()
        await at.press(*"/fork", "enter", "escape")
        await at.until(lambda: not isinstance(at.app.screen, ForkDialog))

        assert told == ["There is no run to fork yet."]
        assert at.app.session.run_id == "kept"


@pytest.mark.requirement("007-TUI-SEARCH")
async def test_ctrl_f_searches_what_is_folded_too_and_enter_and_arrows_go_round() -> None:
    async with screen(kept=True) as at:
        await at.open()
        folded = at.tools()[0].folded
        await at.press("ctrl+f", *"greet")
        bar = at.app.query_one(SearchBar)
        await at.until(lambda: " of " in str(bar.query_one("#matches").render()))
        first, unfolded = at.view.cursor, not at.tools()[0].folded
        await at.press("up")
        above = at.view.cursor
        await at.press("down")
        back = at.view.cursor
        await at.press("enter")
        around = at.view.cursor
        await at.press("z")
        await at.until(lambda: "no matches" in str(bar.query_one("#matches").render()))
        await at.press("escape")

        assert (folded, unfolded) == (True, True)
        assert above < first == back
        assert around < above  # from the last place to the first
        assert not bar.display
        assert at.tools()[0].folded  # as it was before
        assert at.app.focused is at.view


@pytest.mark.requirement("007-TUI-FOLD")
async def test_enter_and_a_click_unfold_a_tool_call_and_fold_does_so_with_all() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("home", *["down"] * 6)
        on = at.view.block
        await at.press("enter")
        unfolded = at.tools()[0].folded
        await at.press("space")
        folded = at.tools()[0].folded
        await at.send("/fold")
        none = [tool.folded for tool in at.tools()]
        await at.send("/fold")
        every = [tool.folded for tool in at.tools()]
        await at.send("/fold")
        await at.press("tab", "home")
        await at.click(6)

        assert on is at.tools()[0]
        assert (unfolded, folded) == (False, True)
        assert none == [True, True]  # one was unfolded, so all are folded
        assert every == [False, False]
        assert [tool.folded for tool in at.tools()] == [False, True]
        assert at.view.block is at.tools()[0]


async def test_arrows_pages_home_and_end_move_the_cursor() -> None:
    async with screen(kept=True) as at:
        await at.open()
        last = at.view.cursor
        places = []
        for key in ("home", "down", "down", "up", "up", "pagedown", "pageup", "end"):
            await at.press(key)
            places.append(at.view.cursor)

        assert places[:5] == [0, 1, 2, 1, 0]
        assert 0 < places[5] <= last
        assert places[6:] == [0, last]


async def test_what_the_cursor_is_on_stays_in_its_place_when_something_above_changes() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("up", "up", "up")
        on, line, row = at.view.block, at.view.cursor, at.view.cursor - at.view.scroll_offset.y
        await at.send("/thinking")
        hidden = (at.view.block, at.view.cursor, at.view.cursor - at.view.scroll_offset.y)
        await at.press("ctrl+b")
        wide = at.view.block
        await at.press("ctrl+b")
        await at.send("/thinking")

        assert hidden == (on, line - 1, row)  # a line of thinking is gone
        assert wide is on
        assert (at.view.block, at.view.cursor) == (on, line)


async def test_thinking_hides_the_models_thinking() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("home")
        tall = at.view.virtual_size.height
        await at.send("/thinking")
        short = at.view.virtual_size.height
        await at.send("/thinking")

        assert short < tall == at.view.virtual_size.height


async def test_copy_copies_what_is_at_the_cursor() -> None:
    async with screen(kept=True) as at:
        await at.open()
        await at.press("home", *"/copy", "enter")

        assert at.app.clipboard == "Greet people more warmly."


async def test_tab_goes_from_part_to_part() -> None:
    async with screen() as at:
        parts = []
        await at.press("ctrl+b")
        for _ in range(3):
            assert at.app.focused is not None
            parts.append(at.app.focused.id)
            await at.press("tab")

        assert parts == ["sidebar", "conversation", "prompt"]


async def test_escape_at_an_idle_prompt_does_nothing_and_letters_elsewhere_go_to_the_prompt() -> None:
    async with screen(kept=True) as at:
        await at.press("escape", *"quiet")
        typed, focused = at.prompt.text, at.app.focused
        at.prompt.clear()
        await at.open()
        await at.press(*"q/?fn")

        assert (typed, focused) == ("quiet", at.prompt)
        assert (at.prompt.text, at.app.focused) == ("q/?fn", at.prompt)
        assert at.app.is_running


@pytest.mark.parametrize("between", range(5))
async def test_words_typed_elsewhere_arrive_whole_however_fast_they_came(between: int) -> None:
    async with screen([reply("Hello!")]) as at:
        await at.press("ctrl+b", "tab")
        elsewhere = at.app.focused
        for key in "how are you":
            at.app.post_message(Key("space" if key == " " else key, key))
            for _ in range(between):
                # The screen gets so far with a key before the next one comes.
                await asyncio.sleep(0)
        at.app.post_message(Key("enter", "\r"))
        await at.until(lambda: at.status is Status.COMPLETE)

        assert elsewhere is not at.prompt
        assert at.said() == ["how are you", "Hello!"]
        assert at.prompt.text == ""


async def test_what_is_pasted_is_at_the_prompt_once_wherever_the_focus_is() -> None:
    async with screen(kept=True) as at:
        await at.open()
        elsewhere = at.app.focused
        at.app.post_message(Paste("two\nlines "))
        await at.until(lambda: at.prompt.text)
        at.app.post_message(Paste("more"))
        await at.until(lambda: "more" in at.prompt.text)

        assert elsewhere is not at.prompt
        assert (at.prompt.text, at.app.focused) == ("two\nlines more", at.prompt)


async def test_what_is_sent_is_shown_wherever_the_conversation_was_scrolled_to() -> None:
    async with screen([reply("Gladly.")], kept=True) as at:
        await at.open()
        await at.press("home")
        away = at.view.scroll_offset.y
        await at.send("Thanks")
        await at.until(lambda: at.app.session.run_id == "run_1" and at.status is Status.COMPLETE)

        assert away == 0 < at.view.scroll_offset.y
        assert at.view.cursor == at.view.virtual_size.height - 1


async def test_help_shows_every_key_there_is() -> None:
    async with screen() as at:
        await at.press("f1")
        assert isinstance(at.app.screen, HelpDialog)
        await at.press("escape")

        assert not isinstance(at.app.screen, HelpDialog)
    helped = {one.action for _, keys in GROUPS for one in keys}
    assert {one.action for one in (*ALWAYS, *CONVERSATION, *PROMPT)} <= helped
    for one in (*ALWAYS, *TYPED):
        name = one.action.removeprefix("app.").partition("(")[0]
        assert hasattr(MaverickApp, f"action_{name}"), name
