"""Permissions from files: the user's decides, the project's only narrows."""

from __future__ import annotations

from pathlib import Path

import pytest

from maverick.exceptions import ConfigError, InvalidInputError
from maverick.loop.policy import Policy
from maverick.tools import load_permissions
from tools.permissions.office import verdict


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


def say(folder: Path, text: str) -> None:
    file = folder / ".maverick" / "permissions.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.mark.requirement("C-PERMISSIONS", "C-MODES")
def test_without_files_everything_but_looking_is_asked_about(home: Path, project: Path) -> None:
    policy = load_permissions(home=home, project=project)

    assert verdict(policy, "write", path="a") == "ask"
    assert verdict(load_permissions("plan", home=home, project=project), "write", path="a") == "deny"
    assert verdict(load_permissions("yolo", home=home, project=project), "shell", command="x") == "allow"


@pytest.mark.requirement("C-PERMISSIONS")
def test_the_users_file_has_a_mode_and_rules_and_a_flag_has_the_last_word_on_the_mode(
    home: Path, project: Path
) -> None:
    say(home, "mode: accept-edits\nallow: ['shell(git *)']\ndeny: ['write(*.lock)']\nask:\n")

    policy = load_permissions(home=home, project=project)

    assert verdict(policy, "write", path="a") == "allow"
    assert verdict(policy, "shell", command="git log") == "allow"
    assert verdict(policy, "write", path="a.lock") == "deny"
    assert verdict(load_permissions("plan", home=home, project=project), "write", path="a") == "deny"


@pytest.mark.requirement("C-PERMISSIONS", "C-MODES")
def test_the_usual_mode_counts_only_where_nobody_has_said_one_and_rules_hold_beside_it(
    home: Path, project: Path
) -> None:
    say(home, "deny: ['write(*.lock)']\n")
    policy = load_permissions(home=home, project=project, usual="yolo")

    assert verdict(policy, "shell", command="ls") == "allow"
    assert verdict(policy, "write", path="a.lock") == "deny"
    asked = load_permissions("ask", home=home, project=project, usual="yolo")
    assert verdict(asked, "shell", command="ls") == "ask"
    say(project, "mode: plan\n")
    planned = load_permissions(home=home, project=project, usual="yolo")
    assert verdict(planned, "shell", command="ls") == "deny"
    say(home, "mode: ask\n")
    (project / ".maverick" / "permissions.yaml").unlink()
    own = load_permissions(home=home, project=project, usual="yolo")
    assert verdict(own, "shell", command="ls") == "ask"


@pytest.mark.requirement("C-NARROW")
def test_a_projects_file_takes_away_and_never_gives(home: Path, project: Path) -> None:
    say(home, "mode: accept-edits\ndeny: [fetch]\n")
    say(project, "mode: ask\ndeny: ['read(secrets/**)']\n")

    def load() -> Policy:
        return load_permissions(home=home, project=project)

    assert verdict(load(), "write", path="a") == "ask"
    assert verdict(load(), "read", path="secrets/key") == "deny"
    assert verdict(load(), "fetch", url="https://example.org/") == "deny"
    say(project, "ask: [read]\n")
    assert verdict(load(), "read", path="a") == "ask"
    assert verdict(load(), "write", path="a") == "allow"


@pytest.mark.requirement("C-NARROW", "P8")
@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("mode: yolo", "mode"),
        ("mode: bypass", "mode"),
        ("alow: [shell]", "alow"),
        ("deny: shell", "deny"),
        ("deny: [1]", "deny"),
        ("deny: ['shell(']", "permissions"),
        ("[]", None),
        ("1: 2", None),
        ("{", None),
        ("x" * 70_000, None),
    ],
)
def test_a_file_that_says_what_it_must_not_is_an_error_that_names_it(
    text: str, field: str | None, home: Path, project: Path
) -> None:
    say(project, text)

    with pytest.raises(ConfigError) as caught:
        load_permissions(home=home, project=project)

    assert caught.value.source == str(project / ".maverick" / "permissions.yaml")
    assert caught.value.field == field


@pytest.mark.requirement("C-MODES")
def test_no_file_not_even_the_users_asks_for_yolo(home: Path, project: Path) -> None:
    say(home, "mode: yolo")

    with pytest.raises(ConfigError, match="a file cannot set"):
        load_permissions(home=home, project=project)


@pytest.mark.requirement("C-PERMISSIONS", "P8")
def test_what_is_no_file_or_no_mode_is_named(home: Path, project: Path) -> None:
    (project / ".maverick" / "permissions.yaml").mkdir(parents=True)

    with pytest.raises(ConfigError, match="is not a file"):
        load_permissions(home=home, project=project)
    with pytest.raises(InvalidInputError, match="no mode 'bypass'"):
        load_permissions("bypass", home=home, project=home)


@pytest.mark.requirement("C-NARROW")
def test_in_the_users_home_the_users_file_is_not_a_strangers(home: Path) -> None:
    say(home, "allow: [shell]")

    assert verdict(load_permissions(home=home, project=home), "shell", command="ls") == "allow"
