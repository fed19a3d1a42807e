"""What can be typed at the prompt besides words: commands, files, the user's own commands; and what is chosen by them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from textual.app import SystemCommand
from textual.widgets import OptionList

from maverick.journal import RunStatus
from maverick.model import Document, Image, Text
from maverick.testing import call, reply
from maverick.tui.conversation import Status
from maverick.tui.dialogs import ChoiceDialog, HelpDialog
from maverick.tui.keys import COMMANDS
from maverick.tui.panels import Welcome
from maverick.tui.prompt import Completions
from tools.mcp.wiki_server import wiki_server
from tui.screen import Screen, screen

pytestmark = pytest.mark.requirement("007-TUI-KEYS")

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def notes(at: Screen) -> list[str]:
    return [one.message for one in at.app._notifications]


def offers(at: Screen) -> list[str]:
    listed = at.app.query_one(Completions)
    return [str(option.prompt).split()[0] for option in listed.options] if listed.display else []


def palette(at: Screen) -> dict[str, SystemCommand]:
    return {command.title: command for command in at.app.get_system_commands(at.app.screen)}


async def test_a_slash_lists_the_commands_and_enter_runs_the_one_that_is_highlighted() -> None:
    async with screen() as at:
        await at.press("slash")
        every = offers(at)
        await at.press(*"he")
        narrowed = offers(at)
        await at.press("enter")

        assert every[: len(COMMANDS)] == [f"/{name}" for name in COMMANDS]
        assert narrowed[0] == "/help"
        assert isinstance(at.app.screen, HelpDialog)
        assert at.prompt.text == ""


async def test_arrows_and_tab_complete_and_escape_leaves_what_is_typed() -> None:
    async with screen() as at:
        await at.press("slash", "down", "tab")
        completed = at.prompt.text
        await at.press("ctrl+c", "slash", "escape")

        assert completed == f"/{list(COMMANDS)[1]} "
        assert (at.prompt.text, offers(at), at.app.focused) == ("/", [], at.prompt)


async def test_a_command_that_there_is_not_stays_and_the_nearest_is_named_and_a_path_is_no_command() -> None:
    async with screen([reply("A list of hosts.")]) as at:
        await at.send("/modell")
        kept, told = at.prompt.text, notes(at)
        at.prompt.clear()
        await at.send("/stop")
        await at.send("/etc/hosts is what?")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert kept == "/modell"
        assert "Did you mean 'model'?" in told[0]
        assert "Nothing is in progress here." in notes(at)
        assert at.said()[0] == "/etc/hosts is what?"


async def test_skills_and_prompts_of_mcp_servers_are_commands_for_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill = tmp_path / ".claude" / "skills" / "baking" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: baking\ndescription: Bakes bread.\n---\nKnead.\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    async with screen([reply("Kneading.")]) as at:
        await at.press(*"/bak")
        found = offers(at)
        await at.press("enter", *"a loaf", "enter")
        await at.until(lambda: at.status is Status.COMPLETE)
        await at.send("/mcp__wiki__summary tides")
        await at.until(lambda: "wiki" in at.remarks())

        assert found == ["/baking"]
        assert at.said() == ["Use the skill baking: a loaf", "Kneading."]
        assert at.prompt.text == "/mcp__wiki__summary tides"


@pytest.mark.requirement("MCP-PROMPTS")
async def test_prompts_of_mcp_servers_are_completed_and_in_the_palette_once_they_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with wiki_server() as url:
        settings = tmp_path / ".maverick" / "mcp.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps({"mcpServers": {"wiki": {"url": url}}}), encoding="utf-8")
        async with screen([reply("They come and go."), reply("At six.")], servers=["wiki"]) as at:
            await at.until(lambda: "/mcp__wiki__summary" in palette(at))
            await at.press(*"/mcp__wiki__s")
            found = offers(at)
            await at.press("enter", *"tides", "enter")
            await at.until(lambda: at.status is Status.COMPLETE)
            palette(at)["/mcp__wiki__resource"].callback()
            await at.press(*"wiki://tides When?", "enter")
            await at.until(lambda: "At six." in at.said())

    assert found == ["/mcp__wiki__summary", "/mcp__wiki__resource"]
    assert at.said()[0] == "Sum up the page tides in English."
    assert "The sea comes and goes." in at.said()[2]


@pytest.mark.requirement("MCP-PROMPTS")
async def test_a_server_that_cannot_be_asked_for_its_prompts_is_told_and_the_screen_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    async with screen([reply("Hello!")], servers=["wiki"]) as at:
        await at.until(lambda: notes(at))
        await at.send("hi")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert "wiki" in notes(at)[0]


async def test_every_command_is_in_the_palette_too() -> None:
    async with screen() as at:
        assert set(palette(at)) == {f"/{name}" for name in COMMANDS} | {"Theme"}


async def test_arrows_bring_back_what_was_sent_before_also_by_others_and_the_draft() -> None:
    async with screen([reply("Hello!")], kept=True) as at:
        await at.send("hi")
        await at.until(lambda: at.status is Status.COMPLETE)
        await at.press(*"draft", "up")
        last = at.prompt.text
        await at.press("up")
        earlier = at.prompt.text
        await at.press("down", "down")

        assert (last, earlier, at.prompt.text) == ("hi", "Greet people more warmly.", "draft")


async def test_files_after_an_at_sign_are_completed_and_attached(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "my notes.txt").write_text("tea at four", encoding="utf-8")
    (tmp_path / "shot.png").write_bytes(PNG)
    async with screen([reply("Nice.")]) as at:
        await at.send(f"/folder {tmp_path}")
        await at.press(*"see @notes")
        found = offers(at)
        await at.press("tab", *"and @shot.png, @ana")
        await at.press("enter")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert found == ["docs/my"]
        document, image, text = at.desk.client.requests[0].messages[0].parts
        assert isinstance(document, Document)
        assert isinstance(image, Image)
        assert isinstance(text, Text)
        assert (document.name, image.name) == ("my notes.txt", "shot.png")
        assert text.text == 'see @"docs/my notes.txt" and @shot.png, @ana'


@pytest.mark.parametrize(
    ("name", "told"),
    [("a.bin", "a.bin is neither"), ("notes.txt", "through a link"), ("up/x", "through a link")],
)
async def test_a_file_that_can_not_be_attached_is_told_and_the_prompt_stays(
    name: str, told: str, tmp_path: Path
) -> None:
    (folder := tmp_path / "project").mkdir()
    (folder / "a.bin").write_bytes(b"\0\1\2")
    (tmp_path / "x").write_text("private", encoding="utf-8")
    (folder / "notes.txt").symlink_to(tmp_path / "x")
    (folder / "up").symlink_to(tmp_path)
    async with screen() as at:
        await at.send(f"/folder {folder}")
        await at.send(f"look at @{name}")
        await at.until(lambda: told in at.remarks())

        assert at.prompt.text == f"look at @{name}"
        assert at.desk.client.requests == []


async def test_the_users_own_command_runs_in_the_folder_and_the_agent_sees_its_output_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-commands")
    async with screen([reply("Two files.")]) as at:
        await at.send(f"/folder {tmp_path}")
        await at.send("!touch a b; ls; echo key=$ANTHROPIC_API_KEY")
        await at.until(lambda: at.tools() and at.tools()[0].result)
        await at.send("how many?")
        await at.until(lambda: at.status is Status.COMPLETE)

        told = at.desk.client.requests[0].messages[0].content
        assert told.startswith("how many?\n\nI ran this command myself: touch a b; ls; echo")
        assert "a\nb\nkey=\n" in told
        assert at.said() == ["how many?", "Two files."]


async def test_a_file_that_is_mentioned_and_not_there_is_told_and_a_word_that_is_no_file_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "docs").mkdir()
    async with screen([reply("Hm.")]) as at:
        await at.send(f"/folder {tmp_path}")
        await at.send("ask @ana. about @nosuch.txt, and @docs/")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert notes(at) == ["There is no file nosuch.txt, so its name is sent as text."]
        assert at.desk.client.requests[0].messages[0].content == "ask @ana. about @nosuch.txt, and @docs/"


@pytest.mark.parametrize(("command", "outcome"), [("true", "finished"), ("ls; false", "failed")])
async def test_the_users_own_command_is_marked_by_its_exit_code(
    command: str, outcome: str, tmp_path: Path
) -> None:
    async with screen() as at:
        await at.send(f"/folder {tmp_path}")
        await at.send(f"!{command}")
        await at.until(lambda: at.tools() and at.tools()[0].result)

        assert [tool.outcome for tool in at.tools()] == [outcome]


async def test_escape_stops_the_users_own_command(tmp_path: Path) -> None:
    async with screen() as at:
        await at.send(f"/folder {tmp_path}")
        await at.send("!sleep 600")
        await at.until(at.tools)
        busy = at.app.session.is_busy
        await at.press("escape")
        await at.until(lambda: not at.app.session.is_busy)

        assert busy
        assert [tool.outcome for tool in at.tools()] == ["cancelled"]


async def test_what_is_queued_while_the_agent_works_is_shown_until_it_is_heard() -> None:
    async with screen([call("edit", path="a", old="b", new="c"), reply("Done.")]) as at:
        await at.send("edit it")
        await at.until(lambda: len(at.app.screen_stack) > 1)
        await at.press("escape")
        await at.send("and be quick")
        await at.send("and neat")
        queued = at.remarks()
        await at.send("/approve")
        await at.until(lambda: len(at.app.screen_stack) > 1)
        await at.press("y")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert "queued: and be quick" in queued
        assert "queued:" not in at.remarks()
        assert at.said() == ["edit it", "and be quick", "and neat", "Done."]


async def test_what_is_queued_is_back_in_the_prompt_when_the_run_is_stopped() -> None:
    async with screen([call("ring", name="Ana")]) as at:
        await at.send("ring")
        await at.until(at.tools)
        await at.send("and Bo")
        await at.send("and Cy")
        await at.press("escape")
        await at.until(lambda: at.status is Status.STOPPED)

        assert at.prompt.text == "and Bo\nand Cy"
        assert "queued:" not in at.remarks()
        assert await at.desk.journal.waiting_words(at.app.session.run_id) == [], "the agent hears it never"


async def test_an_exclamation_mark_alone_does_nothing_and_exit_quits() -> None:
    async with screen() as at:
        await at.send("!")
        kept, shown = at.prompt.text, at.app.session.model.blocks
        at.prompt.clear()
        await at.send("/exit")

        assert (kept, shown) == ("!", [])
        assert not at.app.is_running


async def test_shift_tab_goes_through_the_modes_but_the_one_without_questions() -> None:
    async with screen() as at:
        modes = [at.app.session.mode]
        for _ in range(3):
            await at.press("shift+tab")
            modes.append(at.app.session.mode)
        await at.send("/mode yolo")
        named = at.app.session.mode
        await at.send("/mode yollo")

        assert modes == ["ask", "accept-edits", "plan", "ask"]
        assert named == "yolo"
        assert "Did you mean 'yolo'?" in notes(at)[-1]


async def test_the_model_and_the_effort_are_chosen_and_used() -> None:
    async with screen([reply("Hello!")]) as at:
        await at.press("f3", *"large", "enter", "f4", *"high", "enter")
        await at.send("hi")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert at.app.session.model_name == "scripted:large"
        config = at.desk.client.requests[0].config
        assert (config.model, config.effort) == ("scripted:large", "high")


async def test_a_model_is_found_by_a_part_of_its_name_and_several_are_named() -> None:
    async with screen() as at:
        await at.send("/model large")
        found = at.desk.model
        await at.send("/model scripted")

        assert found == at.desk.model == "scripted:large"
        assert notes(at)[-1] == (
            "Several models are called scripted: scripted:small, scripted:large. Name one of them."
        )


async def test_what_can_not_be_chosen_says_why_and_a_model_that_is_not_listed_can_be_named() -> None:
    async with screen() as at:
        await at.press("f2")
        assert isinstance(at.app.screen, ChoiceDialog)
        listed = [str(option.prompt) for option in at.app.screen.query_one(OptionList).options]
        await at.press("escape")
        await at.send("/agent greeter")
        await at.send("/model claude:claude-opus")
        told = notes(at)
        await at.send("/model local:mine")
        for name in ("mine", "nowhere:mine"):
            await at.send(f"/model {name}")
        await at.press("shift+tab")

        assert "  reporter  Reports on the weather." in listed
        assert any(
            "greeter" in row and "not available: The agent 'greeter' is a class." in row for row in listed
        )
        assert "is a class" in told[0]
        assert "Set ANTHROPIC_API_KEY" in told[1]
        assert at.desk.model == "local:mine"  # and none without a provider
        assert at.app.session.mode == "accept-edits"


async def test_the_folder_is_left_for_another_only_when_nothing_runs_there(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with screen([call("ring", name="Ana")]) as at:
        await at.send("/folder /nowhere/at/all")
        refused = notes(at)
        await at.send(f"/folder {tmp_path}")
        await at.press("f5", *"sub", "enter")
        inside = at.desk.folder
        await at.send("ring")
        await at.until(at.tools)
        await at.send("/folder ..")

        assert "is not a folder" in refused[0]
        assert inside == (tmp_path / "sub").resolve() == at.desk.folder
        assert "Stop it first" in notes(at)[-1]


async def test_an_empty_conversation_says_how_to_begin_and_why_it_can_not() -> None:
    async with screen([reply("Hello!")]) as at:
        welcome = at.app.query_one(Welcome)
        text = str(welcome.render())
        await at.send("/agent greeter")
        await at.send("hi")
        await at.until(lambda: at.status is Status.COMPLETE)

        assert "Ask editor: Edits files." in text
        assert "lists the commands" in text
        assert not welcome.display


async def test_an_agent_that_can_not_run_says_why_before_anything_is_sent() -> None:
    async with screen(agent="greeter") as at:
        assert "is a class" in str(at.app.query_one(Welcome).render())


async def test_leaving_stops_the_users_own_command(tmp_path: Path) -> None:
    async with screen([call("ring", name="Ana")]) as at:
        await at.send(f"/folder {tmp_path}")
        await at.send("!sleep 600")
        await at.until(at.tools)
        await at.send("ring")
        await at.until(lambda: len(at.tools()) == 2)
        await at.press("ctrl+q")
        await at.until(lambda: at.app.stopped)

        assert (await at.desk.journal.get("run_1")).status is RunStatus.STOPPED
