"""Conversations at the left, and agents: chosen, opened, looked for again, and left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from maverick.journal import RunStatus
from maverick.journal.codec import encode_entry
from maverick.loop.entries import RunStarted
from maverick.loop.events import AgentActivityEvent, ContentChunk
from maverick.model import Message
from maverick.testing import call, reply
from maverick.tui.conversation import Status
from maverick.tui.dialogs import ForkDialog, InputsDialog
from maverick.tui.panels import Sidebar
from maverick.tui.prompt import PromptBox
from tui.desk import NOW, keep, kept_entries
from tui.screen import screen

pytestmark = pytest.mark.requirement("007-TUI-KEYS")


async def test_the_conversations_take_no_room_in_a_small_terminal_until_they_are_wanted() -> None:
    async with screen(kept=True) as at:
        sidebar, width = at.app.query_one(Sidebar), at.view.size.width
        hidden = sidebar.display
        await at.press("ctrl+b")
        shown, narrow = sidebar.display, at.view.size.width
        await at.press("enter")
        await at.until(lambda: at.app.session.run_id == "kept")

        assert (hidden, shown, sidebar.display) == (False, True, False)
        assert narrow < width == at.view.size.width == 78


async def test_reload_looks_for_agents_and_conversations_again() -> None:
    async with screen() as at:
        at.desk.unreadable.append("broken.md, line 2: no name.")
        await keep(at.desk.journal, kept_entries())
        await at.send("/reload")

        assert at.app.query_one(Sidebar).option_count == 1
        assert "broken.md, line 2" in at.remarks()


async def test_a_conversation_is_one_entry_however_many_messages_it_has_and_a_fork_is_another() -> None:
    async with screen([reply("Hello!"), reply("More."), reply("Other."), reply("Else.")]) as at:
        await at.send("Hi there")
        await at.until(lambda: at.status is Status.COMPLETE)
        await at.send("and more")
        await at.until(lambda: at.app.session.run_id == "run_2" and at.status is Status.COMPLETE)
        await at.press("tab", "home")
        await at.send("/fork")
        at.app.screen.query_one(PromptBox).text = "and other"
        await at.press("enter")
        await at.until(lambda: at.app.session.run_id == "run_3" and at.status is Status.COMPLETE)
        await at.send("and else")
        await at.until(lambda: at.app.session.run_id == "run_4" and at.status is Status.COMPLETE)
        await at.send("/reload")

        listed = [str(option.prompt).partition("\n")[0] for option in at.app.query_one(Sidebar).options]
        assert listed == ["✓ and other", "✓ Hi there"]
        assert [one.latest.run_id for one in at.app._listed.conversations] == ["run_4", "run_2"]


async def test_an_opened_conversation_is_continued_at_the_prompt_and_clear_begins_a_new_one() -> None:
    async with screen([reply("Gladly.")], kept=True) as at:
        await at.press("ctrl+b", "enter")
        await at.until(lambda: at.status is Status.COMPLETE)
        await at.press(*"Thanks", "enter")
        await at.until(lambda: at.app.session.run_id == "run_1" and at.status is Status.COMPLETE)
        said = at.said()
        await at.press(*"/clear", "enter")

        assert said[-2:] == ["Thanks", "Gladly."]
        assert at.app.session.model.blocks == []
        assert at.app.focused is at.prompt


async def test_an_agent_is_chosen_in_the_list_and_asked_for_its_inputs() -> None:
    async with screen([reply("Rain.")]) as at:
        await at.press("f2", *"weather", "enter")
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
        await at.press("ctrl+n", "escape")

        assert not isinstance(at.app.screen, InputsDialog)


async def test_older_runs_appear_when_the_end_of_the_list_is_reached() -> None:
    async with screen() as at:
        for number in range(120):
            await keep(at.desk.journal, kept_entries(f"kept_{number}", NOW - number))
        await at.send("/reload")
        listed = at.app.query_one(Sidebar)
        first = listed.option_count
        await at.press("ctrl+b")
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
        await at.send("/reload")
        await at.open()
        listed = at.app.query_one(Sidebar)
        (title,) = (str(option.prompt) for option in listed.options)
        await at.press("home", *"/fork", "enter")
        dialog = at.app.screen

        assert len(title) < 300
        assert at.said()[0] == asked
        assert at.view.virtual_size.height < 10_000
        assert isinstance(dialog, ForkDialog)
        assert dialog.query_one(PromptBox).text == ""


async def test_leaving_stops_what_runs_and_says_which() -> None:
    async with screen([call("ring", name="Ana")]) as at:
        await at.send("ring")
        await at.until(at.tools)
        await at.press("ctrl+q")
        await at.until(lambda: at.app.stopped)

        assert [session.run_id for session in at.app.stopped] == ["run_1"]
        assert (await at.desk.journal.get("run_1")).status is RunStatus.STOPPED


@pytest.mark.requirement("007-TUI")
async def test_a_run_goes_on_while_another_conversation_is_looked_at() -> None:
    async with screen([call("ring", name="Ana")], kept=True) as at:
        await at.send("ring")
        await at.until(at.tools)
        live = at.app.session
        await at.send("/reload")
        await at.press("ctrl+b")
        ids = [one.latest.run_id for one in at.app._listed.conversations]
        await at.press("home", *["down"] * ids.index("kept"), "enter")
        await at.until(lambda: at.app.session.run_id == "kept")
        elsewhere = live.is_live
        await at.press("ctrl+b")
        await at.press("home", *["down"] * ids.index("run_1"), "enter")
        await at.until(lambda: at.app.session is live)

        assert elsewhere


@pytest.mark.requirement("007-TUI")
async def test_a_run_that_another_process_works_on_is_read_on() -> None:
    async with screen() as at:
        entries = kept_entries()
        await keep(at.desk.journal, entries[:4], RunStatus.RUNNING, "")
        await at.send("/reload")
        await at.open()
        before = at.said()[-1]
        from maverick.journal.codec import encode_entry

        lease = await at.desk.journal.claim("kept")
        await at.desk.journal.append(
            lease, [encode_entry(entry) for entry in entries[4:]], RunStatus.COMPLETE
        )
        await at.send("/reload")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert before == "I look at the file first."
        assert at.said()[-1].startswith("It now says")


@pytest.mark.requirement("007-TUI", "FLEET-WATCH")
async def test_words_of_a_run_in_a_fleet_are_shown_while_they_are_said() -> None:
    async with screen() as at:
        await keep(at.desk.journal, kept_entries()[:4], RunStatus.RUNNING, "")
        who: dict[str, Any] = {"run_id": "kept", "trace_id": "", "agent": ("editor",), "at": 0.0}
        at.desk.live = [ContentChunk(**who, content="It now "), ContentChunk(**who, content="says")]
        await at.send("/reload")
        await at.open()
        await at.until(lambda: at.said()[-1] == "It now says")

        assert at.status is Status.LEFT


@pytest.mark.requirement("007-TUI", "FLEET-WATCH")
async def test_a_run_in_a_fleet_is_watched_while_it_is_shown_until_it_waits_for_approval(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched: list[str] = []

    async def say_nothing(run_id: str, seen: int) -> AsyncGenerator[AgentActivityEvent, None]:
        watched.append(run_id)
        try:
            await asyncio.Event().wait()
            yield ContentChunk(run_id=run_id, trace_id="", agent=("editor",), at=0.0, content="")
        finally:
            watched.remove(run_id)

    async with screen() as at:
        monkeypatch.setattr(at.desk, "events", say_nothing)
        for run_id in ("one", "two"):
            await keep(at.desk.journal, kept_entries(run_id)[:4], RunStatus.RUNNING, "")
        await at.send("/reload")
        for place in (0, 1, 0):
            await at.open(place)
            await at.until(lambda: watched == [at.app.session.run_id])

        shown = at.app.session.run_id
        lease = await at.desk.journal.claim(shown)
        entries = [encode_entry(entry) for entry in kept_entries(shown)[4:7]]
        await at.desk.journal.append(lease, entries, RunStatus.WAITING)
        await at.send("/reload")
        await at.until(lambda: at.app.session.is_asking)

        assert watched == []


async def test_the_search_does_not_listen_to_other_inputs() -> None:
    async with screen(agent="reporter") as at:
        await at.press("ctrl+n", *"Bre")

        assert at.app.screen.query(Input).first().value == "Bre"
        assert at.view._wanted == ""
