"""Programs that an agent has put on PATH: none of ours is ever taken from where an agent can write."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from canary import CANARY
from maverick.agents.git_changes import changes_since
from maverick.config.programs import find_program, helper_environment
from maverick.tools import Workspace
from maverick.tools.coding.search import Search
from programs import needs_sandbox
from tools.coding.desk import Desk


def plant(folder: Path, name: str, mark: Path) -> Path:
    """A program that leaves a mark, with the environment it was given."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n/usr/bin/env >> {mark}\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    return program


def put_on_path(monkeypatch: pytest.MonkeyPatch, *folders: Path | str) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, folders), os.environ["PATH"]]))


def make_repository(folder: Path) -> None:
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org"]
    for words in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "-m", "Begin"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)  # noqa: S603, S607 - the test's own


@pytest.mark.requirement("ATTACK-PROGRAMS", "C-SANDBOX")
@needs_sandbox
async def test_a_sandbox_or_a_search_that_was_planted_in_an_activated_environment_is_never_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, sandbox=True)
    mark = desk.root / "mark"
    put_on_path(monkeypatch, desk.root / ".venv/bin")
    for name in ("bwrap", "rg", "git"):
        plant(desk.root / ".venv/bin", name, mark)

    answers = [await desk.use("shell", command="echo fine"), await desk.use("grep", pattern="nothing")]
    (tmp_path / "again").mkdir()
    again = Desk(tmp_path / "again", sandbox=True)
    (again.root / "notes.txt").write_text("a fine day\n", encoding="utf-8")
    answers += [await again.use("shell", command="echo fine"), await again.use("grep", pattern="day")]

    assert not mark.exists()
    assert ["fine" in answer for answer in answers] == [True, False, True, True]


@pytest.mark.requirement("ATTACK-PROGRAMS")
@needs_sandbox
async def test_a_command_can_not_plant_a_program_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_on_path(monkeypatch, tmp_path / "work/tools/bin")
    desk = Desk(tmp_path, "tools/bin", sandbox=True)

    answer = await desk.use(
        "shell",
        command="echo x > tools/bin/git; mv tools/bin tools/nib; mv tools slot; mkdir -p tools/bin; echo x > tools/bin/rg",
    )

    assert "Read-only file system" in answer
    assert list((desk.root / "tools/bin").iterdir()) == []


@pytest.mark.requirement("ATTACK-PROGRAMS")
async def test_git_is_not_taken_from_the_repository_it_looks_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    make_repository(tmp_path)
    put_on_path(monkeypatch, plant(tmp_path / "node_modules/.bin", "git", mark).parent)

    assert await changes_since(tmp_path, "HEAD") == ""
    assert not mark.exists()


@pytest.mark.requirement("ATTACK-PROGRAMS")
def test_no_way_through_a_workspace_leads_to_a_helper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, other, safe, open_to_all = (tmp_path / name for name in ("work", "other", "safe", "open"))
    for folder in (workspace, other, safe):
        plant(folder, "helper", tmp_path / "mark")
    plant(open_to_all, "helper", tmp_path / "mark")
    open_to_all.chmod(0o777)
    (tmp_path / "straight").symlink_to(workspace)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/helper").symlink_to(workspace / "helper")
    (workspace / "door").symlink_to(safe)  # it leads out, but an agent can turn it
    (tmp_path / "through").symlink_to(workspace / "door")
    Workspace(workspace)
    Workspace(other)
    monkeypatch.chdir(safe)
    bad = [workspace, other, open_to_all, *(tmp_path / name for name in ("straight", "linked", "through"))]

    for entry in [*map(str, bad), f"{workspace}/door", "", ".", "../safe"]:
        monkeypatch.setenv("PATH", entry)
        assert find_program("helper") is None, entry
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, bad), str(safe)]))
    assert find_program("helper") == str(safe / "helper")
    assert find_program("helper", workspace=safe) is None
    assert helper_environment()["PATH"].split(os.pathsep) == [str(tmp_path / "linked"), str(safe)]


@pytest.mark.requirement("ATTACK-PROGRAMS", "P9")
async def test_a_helper_is_given_no_key_and_nothing_that_changes_how_programs_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.txt").write_text("a\n", encoding="utf-8")
    monkeypatch.setenv("PATH", str(plant(tmp_path / "safe", "rg", mark).parent))
    for name in ("ANTHROPIC_API_KEY", "LD_PRELOAD_NOT", "PYTHONSTARTUP", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(name, CANARY)

    await Search(Workspace(tmp_path / "work")).grep("a")

    given = {line.partition("=")[0] for line in mark.read_text(encoding="utf-8").splitlines()}
    assert given <= {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM", "GIT_TERMINAL_PROMPT"} | {
        "PWD", "SHLVL", "_", "OLDPWD",
    }  # fmt: skip


@pytest.mark.requirement("ATTACK-PROGRAMS", "C-SANDBOX")
@needs_sandbox
async def test_a_planted_stat_does_not_hide_that_something_protected_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, "bin", ".claude", sandbox=True)
    put_on_path(monkeypatch, desk.root / "bin")
    seen = desk.workspace.identity(".claude")
    fake = desk.root / "bin/stat"
    fake.write_text(
        f"#!/bin/sh\nfor each; do case $each in ./*) echo {seen} ;; esac; done\n", encoding="utf-8"
    )
    fake.chmod(0o755)
    (desk.root / ".claude").rename(desk.root / "away")
    (desk.root / ".claude").mkdir()  # between our look at it and the mount
    monkeypatch.setattr(desk.workspace, "identity", lambda name: seen if name == ".claude" else None)

    answer = await desk.use("shell", command="echo it ran")

    assert answer.count("it ran") == 1  # in the title only
    assert "has changed" in answer


@pytest.mark.requirement("ATTACK-PROGRAMS", "000-EDGE-CLI")
def test_the_claude_cli_is_not_taken_from_the_folder_it_works_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = pytest.importorskip("claude_agent_sdk")
    from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

    from maverick.providers.claude_cli.transport import command_line

    monkeypatch.setattr(SubprocessCLITransport, "_find_bundled_cli", lambda _: None)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    project, safe = tmp_path / "project", tmp_path / "safe"
    planted, installed = (
        plant(project / "bin", "claude", tmp_path / "m"),
        plant(safe, "claude", tmp_path / "m"),
    )
    monkeypatch.setenv("PATH", f"{planted.parent}:{safe}")

    assert command_line(sdk.ClaudeAgentOptions(cwd=project))[0] == str(installed)
    monkeypatch.setenv("PATH", str(planted.parent))
    with pytest.raises(sdk.CLINotFoundError):
        command_line(sdk.ClaudeAgentOptions(cwd=project))
