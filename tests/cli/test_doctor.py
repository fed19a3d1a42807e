"""``maverick doctor``: what is there, what is missing, what is wrong, and the fix for each."""

from __future__ import annotations

import subprocess
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from canary import CANARY, lookout
from cli.folder import Folder
from maverick.cli import doctor
from maverick.config.installation import install_command


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CLI takes a second to tell its version; one test asks it."""
    monkeypatch.setattr(doctor, "_claude_cli", lambda: None)


def findings(folder: Folder) -> dict[str, dict[str, Any]]:
    return {finding["what"]: finding for finding in folder.json("doctor")}


@pytest.mark.requirement("007-DOCTOR")
def test_a_machine_with_nothing_set_is_in_good_health_and_told_what_could_be_there(folder: Folder) -> None:
    done = folder.main("doctor")

    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ok  maverick       0.")
    assert "--  Claude key     not set" in lines
    assert any("→ export ANTHROPIC_API_KEY=…" in line for line in lines)
    assert "ok  journal        ~/.maverick/runs.db, created with the first run" in lines
    assert not (folder.path / ".maverick").exists()


@pytest.mark.requirement("007-DOCTOR")
def test_keys_are_seen_and_never_shown(folder: Folder) -> None:
    folder.set("ANTHROPIC_API_KEY", CANARY)
    lookout.plant(
        folder.path / ".maverick" / "config.yaml",
        f"agent: {{provider: openai, model: m, api_key: x{CANARY}}}\n",
    )

    found = findings(folder)

    assert found["Claude key"]["detail"] == "set in ANTHROPIC_API_KEY"
    assert found["OpenAI key"]["detail"] == f"set in {folder.path}/.maverick/config.yaml"
    assert CANARY not in folder.main("doctor").stdout


@pytest.mark.requirement("007-DOCTOR")
def test_what_is_wrong_is_told_with_its_fix_and_the_exit_code(folder: Folder) -> None:
    folder.write("maverick.yaml", "agent: {modle: x}\n")
    folder.write(".maverick/runs.db", "this is no database, whatever its name says, and never was\n" * 9)
    folder.write(".maverick/agents/bad.md", "---\nname: bad\n")

    done = folder.main("doctor")

    assert done.returncode == 1
    wrong = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("!!")]
    assert wrong == ["settings", "journal", "agents"]
    assert done.stdout.count("→") >= 3


def test_the_journal_is_opened_and_counted(folder: Folder) -> None:
    folder.main("run", "-p", "hello")

    assert findings(folder)["journal"]["detail"] == "~/.maverick/runs.db, 1 run"


def test_a_journal_that_can_not_be_made_is_wrong(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)

    done = folder.main("doctor")

    assert done.returncode == 1
    assert "runs.db cannot be created" in done.stdout


def test_a_package_that_is_missing_is_told_with_the_command_that_installs_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", missing)
    monkeypatch.setenv("PATH", str(folder.path / "nowhere"))

    found = findings(folder)

    assert found["tui"]["fix"] == install_command("tui")
    assert found["git"]["health"] == found["claude CLI"]["health"] == "missing"
    assert "npm install" in found["claude CLI"]["fix"]


@pytest.mark.requirement("007-DOCTOR")
def test_the_cli_is_started_to_see_whether_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    (real,) = doctor.examine_claude_cli()
    monkeypatch.setattr(doctor, "_claude_cli", lambda: "/bin/false")
    (broken,) = doctor.examine_claude_cli()

    assert (real.health, "(Claude Code), at " in real.detail) == ("good", True)
    assert (broken.health, broken.detail) == (
        "wrong",
        f"/bin/false does not start: {subprocess.CalledProcessError.__name__}",
    )


@pytest.mark.requirement("007-DOCTOR")
def test_what_needs_no_decision_is_repaired_when_asked_for(folder: Folder) -> None:
    file = folder.write(".maverick/config.yaml", "agent:\n  model: claude:claude-opus-4-0 # mine\n")
    file.parent.chmod(0o755)
    folder.set("ANTHROPIC_API_KEY", CANARY)
    folder.set("SHELL", "/bin/bash")
    before = folder.main("doctor")

    done = folder.main("doctor", "--fix")

    assert before.returncode == 1
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("repaired") == 3
    assert file.read_text() == "agent:\n  model: claude:claude-opus-5-5 # mine\n"
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert (folder.path / ".local/share/bash-completion/completions/maverick").is_file()
    assert "repaired" not in folder.main("doctor", "--fix").stdout
