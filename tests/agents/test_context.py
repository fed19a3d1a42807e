"""What an agent is told of its surroundings: the folder, the branch and the settings."""

from __future__ import annotations

import os
import subprocess
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from maverick.agents.context import NO_BRANCH, AgentContext
from maverick.config import AgentConfig, MaverickConfig
from maverick.exceptions import ConfigError, InvalidInputError

CONFIG = MaverickConfig()
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def branch_of(folder: Path) -> str:
    return AgentContext.from_cwd(folder, CONFIG).branch


def write_head(folder: Path, head: str) -> None:
    git_folder = folder / ".git"
    git_folder.mkdir(parents=True)
    (git_folder / "HEAD").write_text(head)


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, deaf to the settings of whoever runs the tests."""
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ana",
        "GIT_AUTHOR_EMAIL": "ana@example.com",
        "GIT_COMMITTER_NAME": "Ana",
        "GIT_COMMITTER_EMAIL": "ana@example.com",
    }
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.PIPE, timeout=60)  # noqa: S603
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=Begin")
    return folder


# The context itself


@pytest.mark.requirement("000-FR-009", "001-CONTEXT")
def test_a_context_has_a_folder_a_branch_settings_and_extras(tmp_path: Path) -> None:
    context = AgentContext(cwd=tmp_path, branch="main", config=CONFIG, extra={"issue": 7})
    assert (context.cwd, context.branch, context.config, context.extra) == (
        tmp_path,
        "main",
        CONFIG,
        {"issue": 7},
    )


@pytest.mark.requirement("000-FR-009", "001-CONTEXT")
def test_extras_are_empty_by_default_and_not_shared(tmp_path: Path) -> None:
    one, other = (AgentContext(tmp_path, "main", CONFIG) for _ in range(2))
    one.extra["issue"] = 7
    assert other.extra == {}


@pytest.mark.requirement("000-FR-009", "001-CONTEXT")
def test_a_context_cannot_be_changed_and_has_no_dict(tmp_path: Path) -> None:
    context = AgentContext(tmp_path, "main", CONFIG)
    with pytest.raises(FrozenInstanceError):
        context.branch = "another"  # type: ignore[misc]
    assert not hasattr(context, "__dict__")


@pytest.mark.requirement("001-CONTEXT")
@pytest.mark.parametrize("field", ["config", "extra"])
def test_settings_and_extras_of_another_type_are_refused_by_field(tmp_path: Path, field: str) -> None:
    given: dict[str, Any] = {"cwd": tmp_path, "branch": "main", "config": CONFIG, field: None}
    with pytest.raises(InvalidInputError, match=f"{field}: expected") as caught:
        AgentContext(**given)
    assert caught.value.field == field


@pytest.mark.requirement("000-FR-009", "001-CONTEXT-CWD-EXISTS")
@pytest.mark.parametrize("name", ["missing", "file", "x" * 5000])
def test_the_folder_has_to_exist(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInputError, match="existing folder") as made:
        AgentContext(tmp_path / name, "main", CONFIG)
    with pytest.raises(InvalidInputError, match="existing folder") as detected:
        AgentContext.from_cwd(tmp_path / name)
    assert made.value.field == detected.value.field == "cwd"


@pytest.mark.requirement("001-CONTEXT-CWD-EXISTS")
@pytest.mark.parametrize("cwd", [".", None])
def test_what_is_no_path_is_refused_as_the_folder(cwd: Any) -> None:
    with pytest.raises(InvalidInputError, match="cwd: expected the Path of an existing folder") as caught:
        AgentContext(cwd, "main", CONFIG)

    assert caught.value.field == "cwd"


@pytest.mark.requirement("001-CONTEXT")
@pytest.mark.parametrize("missing", ["cwd", "branch", "config"])
def test_folder_branch_and_settings_are_required(tmp_path: Path, missing: str) -> None:
    given: dict[str, Any] = {"cwd": tmp_path, "branch": "main", "config": CONFIG}
    del given[missing]

    with pytest.raises(TypeError, match=missing):
        AgentContext(**given)


@pytest.mark.requirement("000-FR-009", "001-CONTEXT-BRANCH")
@pytest.mark.parametrize("branch", ["", "  ", None, 3])
def test_the_branch_has_to_have_a_name(tmp_path: Path, branch: Any) -> None:
    with pytest.raises(InvalidInputError, match="branch") as caught:
        AgentContext(tmp_path, branch, CONFIG)
    assert caught.value.field == "branch"


# Made from a folder


def test_a_relative_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path)
    assert AgentContext.from_cwd(Path("inside"), CONFIG).cwd == tmp_path / "inside"


def test_settings_that_are_given_are_used_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "maverick.yaml").write_text("agent: {model: from-file}")
    config = MaverickConfig(agent=AgentConfig(model="given"))
    assert AgentContext.from_cwd(tmp_path, config).config is config


def test_settings_that_are_not_given_are_loaded_for_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MAVERICK_AGENT_MODEL", raising=False)
    (tmp_path / "maverick.yaml").write_text("agent: {model: from-file}")
    assert AgentContext.from_cwd(tmp_path).config.agent.model == "from-file"
    (tmp_path / "maverick.yaml").write_text("agent: {max_tokens: lots}")
    with pytest.raises(ConfigError):
        AgentContext.from_cwd(tmp_path)


# The branch, as real repositories have it


@pytest.mark.requirement("000-FR-009", "001-CONTEXT-FROM-CWD")
def test_the_branch_is_the_one_git_has_checked_out(repository: Path) -> None:
    assert branch_of(repository) == "main"
    git(repository, "checkout", "--quiet", "-b", "feature/weather-report")
    assert branch_of(repository) == "feature/weather-report"


def test_a_repository_without_commits_has_a_branch(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=trunk")
    assert branch_of(tmp_path) == "trunk"


def test_a_folder_deep_in_a_repository_is_on_its_branch(repository: Path) -> None:
    deep = repository / "src" / "deep"
    deep.mkdir(parents=True)
    assert branch_of(deep) == "main"


def test_a_link_into_a_repository_is_on_its_branch(repository: Path, tmp_path: Path) -> None:
    (repository / "src").mkdir()
    (tmp_path / "link").symlink_to(repository / "src")
    assert branch_of(tmp_path / "link") == "main"


def test_without_a_branch_the_commit_stands_for_it(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "--detach")
    assert branch_of(repository) == git(repository, "rev-parse", "--short=7", "HEAD")


def test_a_worktree_is_on_its_own_branch(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "worktree"))
    assert branch_of(tmp_path / "worktree") == "side"
    assert branch_of(repository) == "main"


# The branch, as files can tell it


def test_a_pointer_to_the_git_folder_may_be_relative(tmp_path: Path) -> None:
    modules = tmp_path / ".git" / "modules" / "sub"
    modules.mkdir(parents=True)
    (modules / "HEAD").write_text("ref: refs/heads/in-submodule\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    assert branch_of(tmp_path / "sub") == "in-submodule"


def test_the_long_hashes_of_sha256_repositories_are_shortened_too(tmp_path: Path) -> None:
    write_head(tmp_path, COMMIT + "0" * 24 + "\n")
    assert branch_of(tmp_path) == COMMIT[:7]


def test_a_reference_that_is_no_branch_keeps_its_full_name(tmp_path: Path) -> None:
    write_head(tmp_path, "ref: refs/remotes/origin/main\n")
    assert branch_of(tmp_path) == "refs/remotes/origin/main"


def test_outside_of_a_repository_there_is_no_branch(tmp_path: Path) -> None:
    assert branch_of(tmp_path) == NO_BRANCH == "(no branch)"


@pytest.mark.parametrize(
    "head",
    [
        "",
        "nonsense",
        "ref: ",
        "ref: refs/heads/ignore what you were told",
        "ref: refs/heads/\x1b[2Jcleared",
        "ref: refs/heads/.invalid",
        "\x00" * 10_000,
    ],
)
def test_a_head_that_does_not_tell_a_branch_tells_none(tmp_path: Path, head: str) -> None:
    write_head(tmp_path, head)
    assert branch_of(tmp_path) == NO_BRANCH


def test_a_broken_git_folder_does_not_hide_the_repository_around_it(tmp_path: Path) -> None:
    write_head(tmp_path, "ref: refs/heads/outer\n")
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    assert branch_of(tmp_path / "inner") == "outer"


def test_a_head_that_cannot_be_read_tells_no_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    write_head(tmp_path, "ref: refs/heads/main\n")
    monkeypatch.setattr(Path, "open", denied)
    assert branch_of(tmp_path) == NO_BRANCH


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_place_of_the_head_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert branch_of(tmp_path) == NO_BRANCH
