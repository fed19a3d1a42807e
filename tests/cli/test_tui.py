"""``maverick tui`` up to where the screen begins: its arguments, and what it works with."""

from __future__ import annotations

import asyncio
import getpass
from typing import Any

import pytest

from canary import CANARY
from cli.folder import Folder
from maverick.agents.conversations import FolderConversations, agent_of_run
from maverick.cli.agent_lookup import look_up
from maverick.cli.tui import CommandLineBackend
from maverick.config import load_config
from maverick.exceptions import AgentNotFoundError, InvalidInputError
from maverick.journal import MemoryJournal, RunRecord, RunStatus, SqliteJournal
from maverick.tui.app import MaverickApp
from maverick.tui.conversation import Status
from scripts import run_python
from tui.desk import until

AGENT = """
    ---
    name: helper
    description: Helps.
    ---
    Help.
"""
CLASS = """
    from maverick.agents import registry

    @registry.register("greeter")
    class Greeter:
        '''Greets.'''

        async def execute(self, context): ...
"""


def backend(agent: str | None = None, **options: Any) -> CommandLineBackend:
    config = load_config()
    return CommandLineBackend(config, MemoryJournal(), look_up(agent, config), **options)


def test_without_a_terminal_it_says_what_to_use_instead(folder: Folder) -> None:
    assert folder.refuse("tui") == (
        "maverick: `maverick tui` needs a terminal. Elsewhere, use `maverick run` and `maverick runs`.\n".strip()
    )


@pytest.mark.requirement("F-IMPORT")
def test_its_arguments_are_read_without_loading_the_screen(folder: Folder) -> None:
    loaded = run_python(
        "import sys\n"
        "from maverick.cli.main import command_parser\n"
        "command_parser().parse_args(['tui', 'general', '--mode', 'plan'])\n"
        "print('textual' in sys.modules, 'maverick.runtime' in sys.modules)"
    )

    assert loaded.split() == ["False", "False"]


@pytest.mark.requirement("007-TUI")
def test_agents_are_those_of_the_person_and_the_one_that_was_named(folder: Folder) -> None:
    folder.write(".maverick/agents/helper.md", AGENT)
    folder.write("broken.py", "1 / 0")
    folder.write(".maverick/agents/broken.md", "---\nmax_turns: many\n---\nHello.\n")
    folder.write("other.md", AGENT.replace("helper", "other"))

    place = backend("other.md")

    names = [found.name for found in place.agents()]
    assert names == sorted(names)
    assert {"helper", "other", "general"} <= set(names)
    assert [problem for problem in place.problems() if "broken.md" in problem]
    assert place.prepare("other").definition.name == "other"


@pytest.mark.requirement("007-TUI-OFFLINE")
def test_without_a_key_the_offline_model_is_prepared_with_a_remark(folder: Folder) -> None:
    prepared = backend().prepare("general")

    assert prepared.definition.model_config.model == "offline:"
    assert "set ANTHROPIC_API_KEY" in prepared.notice


def test_with_a_key_the_agents_own_model_answers_and_its_window_is_known(folder: Folder) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)

    prepared = backend().prepare("general")

    assert (prepared.definition.model_config.model or "").startswith("claude:")
    assert (prepared.context_window, prepared.notice) == (1_000_000, "")


def test_a_model_that_was_asked_for_is_used_whatever_the_agent_names(folder: Folder) -> None:
    prepared = backend(model="offline:").prepare("general")

    assert (prepared.definition.model_config.model, prepared.notice) == ("offline:", "")


def test_a_run_is_resumed_with_the_words_that_make_its_agent_the_same_again(folder: Folder) -> None:
    folder.write("other.md", AGENT.replace("helper", "other"))

    place = backend("other.md", source="other.md", mode="plan")

    assert place.resume_options("other") == ["--agents", "other.md", "--mode", "plan"]
    assert place.resume_options("general") == ["--mode", "plan"]


@pytest.mark.requirement("MCP-TUI")
def test_servers_that_were_asked_for_are_every_agents_and_named_again_when_a_run_is_resumed(
    folder: Folder,
) -> None:
    folder.write("other.md", AGENT.replace("helper", "other"))

    place = backend("other.md", mcp=["shop", "wiki"])

    for name in ("other", "general"):
        assert {"mcp__shop", "mcp__wiki"} <= {*place.prepare(name).definition.tool_config.tools}
        assert place.resume_options(name)[-4:] == ["--mcp", "shop", "--mcp", "wiki"]


def test_agents_that_are_missing_or_classes_are_refused_with_advice(folder: Folder) -> None:
    folder.write("office.py", CLASS)
    place = backend("office.py")

    with pytest.raises(InvalidInputError, match="Run it with: maverick run greeter"):
        place.prepare("greeter")
    with pytest.raises(AgentNotFoundError):
        place.prepare("nobody")


@pytest.mark.requirement("TRUST-CODE")
def test_a_conversation_with_an_agent_in_a_file_goes_on_under_the_rules_of_trust(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pirate = "---\nname: pirate\ndescription: Sails.\n---\nSay ahoy.\n"
    file = folder.write("ship/pirate.md", pirate)
    folder.write("elsewhere/notes.txt", "")
    monkeypatch.chdir(folder.path / "ship")
    assert folder.main("run", "pirate.md", "-p", "hello there", "--run-id", "first").returncode == 0

    async def talk() -> tuple[RunRecord, str, str, str]:
        config = load_config()
        async with SqliteJournal(folder.path / ".maverick" / "runs.db") as journal:
            app = MaverickApp(CommandLineBackend(config, journal, look_up(None, config)), "general")
            async with app.run_test() as pilot:
                app._open("first")
                await until(pilot, lambda: app.session.run_id == "first")
                await pilot.press(*"ahoy", "enter")
                await until(pilot, lambda: app.session.run_id != "first" and not app.session.is_live)
                answered = app.session.run_id
                await pilot.press("ctrl+n")
                begun = app.session.notice
                file.write_text(pirate + "Obey the parrot.\n")
                app._open(answered)
                await until(pilot, lambda: app.session.run_id == answered)
                changed = app.session.agent, app.session.notice
            return await journal.get(answered), begun, *changed

    monkeypatch.chdir(folder.path / "elsewhere")
    record, begun, agent, changed = asyncio.run(talk())

    assert (record.agent, record.status) == ("pirate", RunStatus.COMPLETE)
    assert begun.startswith("offline model")
    assert agent == "pirate"
    assert "has changed since this conversation began" in changed


@pytest.mark.requirement("TRUST-CODE")
def test_a_conversation_begun_on_the_screen_is_remembered_with_the_file_of_its_agent(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("ship/pirate.md", "---\nname: pirate\ndescription: Sails.\n---\nSay ahoy.\n")
    folder.write("elsewhere/notes.txt", "")

    async def talk(source: str | None, opened: str = "", *words: str) -> str:
        config = load_config()
        async with SqliteJournal(folder.path / ".maverick" / "runs.db") as journal:
            named = look_up(source, config)
            app = MaverickApp(CommandLineBackend(config, journal, named, source=source), named.name)
            async with app.run_test() as pilot:
                if opened:
                    app._open(opened)
                    await until(pilot, lambda: app.session.run_id == opened)
                await pilot.press(*(words or (*"ahoy", "enter")))
                await until(pilot, lambda: app.session.run_id not in ("", opened))
                await until(pilot, lambda: app.session.model.status is Status.COMPLETE)
                return app.session.run_id

    monkeypatch.chdir(folder.path / "ship")
    first = asyncio.run(talk("pirate.md"))
    monkeypatch.chdir(folder.path / "elsewhere")
    second = asyncio.run(talk(None, first))
    continued = folder.main("run", "-c", "-p", "and now?", "--run-id", "third")
    resumed = agent_of_run(second)
    (conversation,) = FolderConversations().all()
    fork = asyncio.run(talk(None, "third", "home", *"/fork", "enter", "enter"))

    assert agent_of_run(fork) == resumed
    assert FolderConversations().last().runs == (fork,)
    assert continued.returncode == 0, continued.stderr
    assert resumed == str(folder.path / "ship" / "pirate.md")
    assert conversation.runs == (second, "third")


async def test_its_executor_keeps_runs_in_its_journal(folder: Folder) -> None:
    place = backend(mode="plan")
    definition = place.prepare("general").definition

    async with place.executor(definition, None, None) as executor:
        await executor.execute(definition, inputs={"prompt": "hello"}, run_id="kept")

    assert (await place.journal.get("kept")).agent == "general"


def test_a_user_without_a_name_decides_nothing(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    place = backend()
    known = place.user

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nobody)

    assert known
    with pytest.raises(InvalidInputError, match="Set the variable USER"):
        _ = place.user
