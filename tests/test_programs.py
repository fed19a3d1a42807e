"""A machine without the programs that only some tests need: they are skipped, and it is said how to install them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from programs import PACKAGES, find, link_others, needs, summary

TESTS = Path(__file__).parent


@pytest.mark.requirement("MACHINE-BARE")
def test_the_optional_programs_can_be_hidden_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = os.environ["PATH"]
    for number, names in enumerate([["bwrap", "google-chrome", "git", "ours"], ["ours", "theirs"]]):
        (folder := tmp_path / str(number)).mkdir()
        for name in names:
            (folder / name).write_text(f"#!/bin/sh\necho {number}\n", encoding="utf-8")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/0:{tmp_path}/none:{tmp_path}/1:{everything}")
    (links := tmp_path / "links").mkdir()

    link_others(links)
    monkeypatch.setenv("PATH", str(links))

    assert [name for name in PACKAGES if find(name)] == []
    assert shutil.which("google-chrome") is None
    assert all(map(shutil.which, ["sh", "make", "git", "theirs"]))
    assert subprocess.run(["ours"], capture_output=True, check=True).stdout == b"0\n"  # noqa: S607 - the first on the path


@pytest.mark.requirement("MACHINE-BARE", "MACHINE-SKIPS")
def test_what_is_skipped_for_want_of_a_program_is_said_in_a_line(tmp_path: Path) -> None:
    (links := tmp_path / "links").mkdir()
    link_others(links)
    skipped = f"{TESTS}/cli/test_completion.py::test_a_shell_accepts_its_script"
    passed = f"{TESTS}/cli/test_completion.py::test_an_unknown_shell_is_refused"

    done = subprocess.run(  # noqa: S603 - our own tests
        [sys.executable, "-m", "pytest", "-n", "1", f"--basetemp={tmp_path}/base", skipped, passed],
        cwd=TESTS.parent,
        env={**os.environ, "PATH": str(links)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if "To install" in line]
    assert [line.partition("To install: ")[0] for line in lines] == ["Skipped 2 tests that need fish, zsh. "]
    assert lines[0].endswith(" install fish zsh")
    assert done.stdout.splitlines()[-2] == lines[0]
    assert "1 passed, 2 skipped" in done.stdout.splitlines()[-1]


@pytest.mark.requirement("MACHINE-SKIPS")
def test_the_line_names_each_program_once_and_its_package() -> None:
    reasons = ["Skipped: needs tmux, which is not installed"] * 2 + ["needs bwrap, which is not installed"]

    said = summary([*reasons, "looks into /proc"])

    assert said.startswith("Skipped 3 tests that need bwrap, tmux. To install: ")
    assert said.endswith(" install bubblewrap tmux")
    assert summary(["looks into /proc"]) == ""


def test_a_program_that_is_there_skips_nothing() -> None:
    assert needs("sh").mark.args == (False,)
