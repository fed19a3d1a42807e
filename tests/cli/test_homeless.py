"""``maverick`` for a user of whom the system knows no home, as in some containers."""

from __future__ import annotations

import pwd
import re

import pytest

from cli.folder import Folder


@pytest.fixture
def homeless(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder of somebody who has no home."""

    def unknown(user: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {user}")

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    return folder


@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize(
    "words",
    [
        ("run", "-p", "list files", "--no-journal"),
        ("run", "-p", "list files", "--journal", "runs.db"),
        ("run", "-p", "list files", "--no-journal", "--mode", "plan"),
        ("agents", "list"),
        ("agents", "show", "general"),
        ("config", "show"),
        ("config", "path"),
        ("config", "init", "--project"),
        ("mcp", "list"),
    ],
)
def test_what_needs_no_home_works(words: tuple[str, ...], homeless: Folder) -> None:
    done = homeless.main(*words)

    assert done.returncode == 0, done.stderr


@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize(
    "words",
    [
        ("run", "-p", "list files"),
        ("runs", "list"),
        ("agents", "new", "mine", "--home"),
        ("config", "init"),
        ("chat",),
        ("trust",),
        ("serve", "--no-browser"),
    ],
)
def test_what_needs_one_says_so_in_a_line(words: tuple[str, ...], homeless: Folder) -> None:
    homeless.write(".mcp.json", '{"mcpServers": {"shop": {"command": "shop"}}}')
    done = homeless.main(*words, said="hello\n")

    assert done.returncode in (1, 2), done.stderr
    assert re.search(r"^maverick: .*home.*\n\Z", done.stderr, re.MULTILINE | re.IGNORECASE), done.stderr
    assert "should not happen" not in done.stderr


@pytest.mark.requirement("007-DOCTOR")
def test_the_doctor_names_what_can_not_be_kept(homeless: Folder) -> None:
    done = homeless.main("doctor")

    assert done.returncode == 1, done.stderr
    assert re.search(r"^!!  journal +~/.maverick/runs.db cannot be created", done.stdout, re.MULTILINE)
