"""Agents and runs at the left: chosen, opened, looked for again, and left."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from textual.widgets import Input, OptionList

from maverick.journal import RunStatus
from maverick.loop.entries import RunStarted
from maverick.model import Message
from maverick.testing import call, reply
from maverick.tui.conversation import Status
from maverick.tui.dialogs import ForkDialog, InputsDialog
from maverick.tui.prompt import PromptBox
from maverick.tui.sidebar import Sidebar
from tui.desk import NOW, Desk, keep, kept_entries
from tui.screen import screen

pytestmark = pytest.mark.requirement("007-TUI-KEYS")


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
        assert isinstance(at.app.screen, InputsDialog)
        await at.press(*"Brest", "enter", "7", "enter")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert chosen == "reporter"
        assert at.said() == ["Report on Brest in 7 days.", "Rain."]


async def test_inputs_that_do_not_fit_are_told_and_escape_leaves_them_be() -> None:
    async with screen(agent="reporter") as at:
        await at.send("Brest, please")
        assert isinstance(at.app.screen, InputsDialog)
        await at.press(*"Brest", "enter", *"many", "enter")
        await at.until(lambda: "inputs.days" in at.remarks())
        await at.press("escape", "n", "escape")

        assert not isinstance(at.app.screen, InputsDialog)


async def test_older_runs_appear_when_the_end_of_the_list_is_reached() -> None:
    async with screen() as at:
        for number in range(120):
            await keep(at.desk.journal, kept_entries(f"kept_{number}", NOW - number))
        await at.press("escape", "u")
        listed = at.app.query_one("#runs", OptionList)
        first = listed.option_count
        listed.focus()
        await at.press("end")
        await at.until(lambda: listed.option_count == 100)
        here = listed.highlighted
        await at.press("end")
        await at.until(lambda: listed.option_count == 120)
        await at.press("end")

        assert (first, here) == (50, 49)  # the list grows below the cursor
        assert listed.option_count == 120


@pytest.mark.requirement("007-TUI-LARGE")
async def test_a_run_that_was_asked_very_much_has_a_short_title_and_is_opened_in_part() -> None:
    asked = "word\n" * 500_000
    start, *entries = kept_entries()
    assert isinstance(start, RunStarted)
    async with screen() as at:
        await keep(at.desk.journal, [replace(start, messages=(Message.user(asked),)), *entries])
        await at.press("escape", "u")
        await at.open()
        listed = at.app.query_one("#runs", OptionList)
        (title,) = (str(option.prompt) for option in listed.options)
        await at.press("home", "f")
        dialog = at.app.screen

        assert len(title) < 300
        assert at.said()[0] == asked
        assert at.view.virtual_size.height < 10_000
        assert isinstance(dialog, ForkDialog)
        assert dialog.query_one(PromptBox).text == ""


async def test_a_small_terminal_has_the_lists_when_they_are_asked_for() -> None:
    desk = Desk()
    async with desk.app().run_test(size=(60, 15)) as pilot:
        sidebar = pilot.app.query_one(Sidebar)
        hidden = sidebar.display
        await pilot.press("escape", "b")

        assert (hidden, sidebar.display) == (False, True)


async def test_leaving_stops_what_runs_and_says_which() -> None:
    async with screen([call("ring", name="Ana")]) as at:
        await at.send("ring")
        await at.until(at.tools)
        await at.press("escape", "q")
        await at.until(lambda: at.app.stopped)

        assert [session.run_id for session in at.app.stopped] == ["run_1"]
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


async def test_the_search_does_not_listen_to_other_inputs() -> None:
    async with screen(agent="reporter") as at:
        await at.press("escape", "n", *"Bre")

        assert at.app.screen.query(Input).first().value == "Bre"
        assert at.view._wanted == ""
