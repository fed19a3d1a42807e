"""The person's permissions hold for whatever agent a command runs, its own tools included."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.folder import Folder
from maverick.cli.agent_lookup import look_up
from maverick.cli.tui import CommandLineBackend
from maverick.config import load_config
from maverick.journal import MemoryJournal

CODER = """
    from maverick import AgentDefinition, ModelConfig, ToolConfig, tool
    from maverick.tools import Workspace, coding_tools

    @tool
    async def greet(name: str) -> str:
        "Greet somebody."
        return f"greeted {name}"

    agent = AgentDefinition(
        "coder",
        "Codes.",
        model_config=ModelConfig("offline:"),
        tool_config=ToolConfig([greet, *coding_tools(Workspace("."))]),
    )
"""
WRITE = "call write_file with path 'made.txt' and content 'tea'"


@pytest.fixture
def home(folder: Folder) -> Path:
    """The person's home, apart from the folder they are in."""
    home = folder.path / "home"
    (home / ".maverick").mkdir(parents=True)
    folder.set("HOME", str(home))
    folder.write("coder.py", CODER)
    return home


def say(place: Path, text: str) -> None:
    (place / ".maverick").mkdir(exist_ok=True)
    (place / ".maverick" / "permissions.yaml").write_text(text, encoding="utf-8")


@pytest.mark.requirement("C-PERMISSIONS", "007-RUN-MODES")
@pytest.mark.parametrize("where", ["home", "project"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("deny: [greet]", "the permissions deny greet"),
        ("deny: ['greet(name=An*)']", "the permissions deny greet"),
        ("mode: plan", "not in plan mode"),
    ],
)
def test_what_a_file_denies_no_agent_does_whoever_made_its_tools(
    text: str, said: str, where: str, home: Path, folder: Folder
) -> None:
    say(home if where == "home" else folder.path, text)

    done = folder.main("run", "coder.py", "-p", "greet 'Ana'")

    assert said in done.stderr
    assert "greeted" not in done.stdout


@pytest.mark.requirement("C-PERMISSIONS", "007-RUN-MODES")
@pytest.mark.parametrize("where", ["home", "project"])
@pytest.mark.parametrize("text", ["ask: [greet]", "mode: ask"])
def test_what_a_file_asks_about_is_asked_about_whoever_made_the_tool(
    text: str, where: str, home: Path, folder: Folder
) -> None:
    say(home if where == "home" else folder.path, text)

    assert folder.main("run", "coder.py", "-p", "greet 'Ana'").returncode == 3


@pytest.mark.requirement("C-PERMISSIONS", "007-RUN-MODES")
def test_a_rule_that_denies_holds_beside_any_mode_that_is_asked_for(home: Path, folder: Folder) -> None:
    say(home, "mode: plan\ndeny: [write_file]")

    for mode in ([], ["--mode", "yolo"]):
        done = folder.main("run", "coder.py", "-p", WRITE, *mode)
        assert "the permissions deny write_file" in done.stderr
    assert not (folder.path / "made.txt").exists()


@pytest.mark.requirement("C-PERMISSIONS", "007-RUN-MODES")
def test_a_run_that_is_resumed_or_forked_goes_on_under_the_files_as_they_are_now(
    home: Path, folder: Folder
) -> None:
    say(home, "ask: [greet]")
    assert folder.main("run", "coder.py", "-p", "greet 'Ana'", "--run-id", "mine").returncode == 3
    say(home, "deny: [greet]")
    assert folder.main("runs", "approve", "mine").returncode == 0

    resumed = folder.main("runs", "resume", "mine", "--agents", "coder.py")
    forked = folder.main("runs", "fork", "mine", "--turn", "1", "--agents", "coder.py")

    for done in (resumed, forked):
        assert "the permissions deny greet" in done.stderr
        assert "greeted" not in done.stdout


@pytest.mark.requirement("C-PERMISSIONS", "007-RUN-MODES")
async def test_on_the_screen_the_files_hold_too(home: Path, folder: Folder) -> None:
    say(home, "deny: [greet]")
    config = load_config()
    place = CommandLineBackend(config, MemoryJournal(), look_up("coder.py", config), source="coder.py")
    definition = place.prepare("coder").definition

    async with place.executor(definition, None, None) as executor:
        result = await executor.execute(definition, inputs={"prompt": "greet 'Ana'"})

    assert [str(record.outcome) for record in result.tool_calls] == ["denied"]


@pytest.mark.requirement("C-PERMISSIONS")
def test_a_file_that_can_not_be_read_stops_every_run(home: Path, folder: Folder) -> None:
    say(home, "deny: greet")

    assert "deny: " in folder.refuse("run", "coder.py", "-p", "greet 'Ana'")


@pytest.mark.requirement("C-PERMISSIONS")
def test_a_person_without_a_home_has_the_permissions_of_the_project(
    home: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    say(folder.path, "deny: [greet]")
    monkeypatch.setattr(Path, "home", nobody)
    folder.set("MAVERICK_JOURNAL", os.fspath(folder.path / "runs.db"))

    assert "the permissions deny greet" in folder.main("run", "coder.py", "-p", "greet 'Ana'").stderr
