"""Repositories of strangers, whose settings name programs: looking at their changes starts none of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from maverick.agents.context import AgentContext
from maverick.agents.git_changes import changes_since, staged_changes
from maverick.config import MaverickConfig
from maverick.exceptions import ProcessError


class Hostile:
    """A repository with a change, and a program that tells when somebody has started it."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "project"
        self.sprung = base / "sprung"
        self.trap = base / "trap"
        pretending = 'case "$*" in *upload-pack*) exit 1 ;; esac\ncat\n'
        self.trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.sprung}\n{pretending}', encoding="utf-8")
        self.trap.chmod(0o755)
        self.folder.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")
        self.write("notes.txt", "one\n")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "Begin")
        self.write("notes.txt", "two\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def git(self, *words: str, folder: Path | None = None) -> str:
        who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "protocol.file.allow=always")
        done = subprocess.run(  # noqa: S603 - the test's own
            ["git", *who, *words],  # noqa: S607 - the test's own
            cwd=folder or self.folder,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def set(self, name: str, value: str) -> None:
        self.git("config", name, value)

    def is_sprung(self) -> bool:
        return self.sprung.exists()


def clean_filter(repository: Hostile) -> None:
    repository.write(".gitattributes", "* filter=evil\n")
    repository.set("filter.evil.clean", str(repository.trap))
    repository.set("filter.evil.required", "true")


def filter_process(repository: Hostile) -> None:
    repository.write(".gitattributes", "* filter=evil\n")
    repository.set("filter.evil.process", str(repository.trap))


def included_filter(repository: Hostile) -> None:
    repository.write(".gitattributes", "* filter=evil\n")
    repository.write("more", f'[filter "evil"]\nclean = {repository.trap}\n')
    repository.set("include.path", "../more")


def attributes_of_the_repository(repository: Hostile) -> None:
    (repository.folder / ".git/info").mkdir(exist_ok=True)
    (repository.folder / ".git/info/attributes").write_text("* filter=evil diff=evil\n", encoding="utf-8")
    repository.set("filter.evil.clean", str(repository.trap))
    repository.set("diff.evil.textconv", str(repository.trap))


def file_system_monitor(repository: Hostile) -> None:
    repository.set("core.fsmonitor", str(repository.trap))


def external_difference(repository: Hostile) -> None:
    repository.set("diff.external", str(repository.trap))


def difference_driver(repository: Hostile) -> None:
    repository.write(".gitattributes", "* diff=evil\n")
    repository.set("diff.evil.command", str(repository.trap))
    repository.set("diff.evil.textconv", str(repository.trap))


def hooks(repository: Hostile) -> None:
    folder = repository.folder / "hooks"
    folder.mkdir()
    for name in (
        "post-index-change",
        "pre-commit",
        "post-checkout",
        "reference-transaction",
        "fsmonitor-watchman",
    ):
        shutil.copy2(repository.trap, folder / name)
    repository.set("core.hooksPath", str(folder))
    os.utime(repository.folder / "notes.txt", (1, 1))


def pager_and_aliases(repository: Hostile) -> None:
    for name in (
        "core.pager",
        "pager.diff",
        "core.editor",
        "core.askPass",
        "credential.helper",
        "gpg.program",
    ):
        repository.set(name, str(repository.trap))
    for name in ("alias.diff", "alias.rev-parse", "alias.config"):
        repository.set(name, f"!{repository.trap}")


def submodule(repository: Hostile) -> None:
    inner = repository.folder / "inner"
    inner.mkdir()
    repository.git("init", "--quiet", folder=inner)
    repository.git("commit", "--quiet", "--allow-empty", "-m", "Begin", folder=inner)
    repository.git("add", "inner")
    repository.git("config", "core.fsmonitor", str(repository.trap), folder=inner)


def missing_object(repository: Hostile) -> None:
    """The old text is to be fetched, which starts whatever the settings say."""
    take_away(repository, "HEAD:notes.txt")


def missing_commit(repository: Hostile) -> None:
    """What a revision is can only be said of what is fetched first."""
    take_away(repository, "HEAD")


def take_away(repository: Hostile, what: str) -> None:
    name = repository.git("rev-parse", what)
    (repository.folder / ".git/objects" / name[:2] / name[2:]).unlink()
    repository.set("core.repositoryFormatVersion", "1")
    repository.set("extensions.partialClone", "origin")
    repository.set("remote.origin.promisor", "true")
    repository.set("remote.origin.url", "ssh://example.invalid/project")
    repository.set("core.sshCommand", str(repository.trap))


HOSTILE: Mapping[str, Callable[[Hostile], None]] = {
    made.__name__: made
    for made in (
        clean_filter,
        filter_process,
        included_filter,
        attributes_of_the_repository,
        file_system_monitor,
        external_difference,
        difference_driver,
        hooks,
        pager_and_aliases,
        submodule,
        missing_object,
        missing_commit,
    )
}


@pytest.mark.requirement("ATTACK-GIT")
@pytest.mark.parametrize("kind", HOSTILE)
async def test_no_setting_of_a_repository_starts_anything_when_its_changes_are_looked_at(
    kind: str, tmp_path: Path
) -> None:
    repository = Hostile(tmp_path)
    HOSTILE[kind](repository)
    assert not repository.is_sprung()

    context = AgentContext.from_cwd(repository.folder, MaverickConfig())
    said = []
    for look in (changes_since(repository.folder, "HEAD"), staged_changes(repository.folder)):
        try:
            said.append(await look)
        except ProcessError as error:
            said.append(str(error))

    assert not repository.is_sprung(), repository.sprung.read_text(encoding="utf-8")
    assert context.branch == "main"
    if not kind.startswith("missing"):
        assert all("+two" in text or "inner" in text for text in said), said


@pytest.mark.parametrize(
    "kind", ["clean_filter", "file_system_monitor", "submodule", "missing_object", "missing_commit"]
)
def test_the_traps_of_these_tests_spring_when_git_itself_is_asked(kind: str, tmp_path: Path) -> None:
    repository = Hostile(tmp_path)
    HOSTILE[kind](repository)

    subprocess.run(
        ["git", "diff", "HEAD"],  # noqa: S607 - the test's own
        cwd=repository.folder,
        check=False,
        capture_output=True,
        timeout=60,
    )

    assert repository.is_sprung()


@pytest.mark.requirement("ATTACK-GIT")
async def test_a_repository_can_not_have_the_files_of_another_folder_shown(tmp_path: Path) -> None:
    repository = Hostile(tmp_path)
    private = tmp_path / "private"
    private.mkdir()
    (private / "notes.txt").write_text("a private note\n", encoding="utf-8")
    repository.set("core.worktree", str(private))

    told = await changes_since(repository.folder, "HEAD")

    assert "private" not in told
    assert "+two" in told


@pytest.mark.requirement("ATTACK-GIT")
async def test_what_git_has_kept_is_still_compared_as_the_user_has_set_it_up(tmp_path: Path) -> None:
    repository = Hostile(tmp_path)
    repository.write("notes.txt", "one\r\n")
    before = await changes_since(repository.folder, "HEAD")
    repository.set("core.autocrlf", "input")
    (repository.folder / "notes.txt").chmod(0o755)
    repository.set("core.fileMode", "false")

    assert "+one" in before
    assert await changes_since(repository.folder, "HEAD") == ""


@pytest.mark.requirement("ATTACK-GIT")
async def test_a_worktree_a_subfolder_and_a_repository_without_commits_are_looked_at_too(
    tmp_path: Path,
) -> None:
    repository = Hostile(tmp_path)
    repository.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "worktree"))
    (tmp_path / "worktree/notes.txt").write_text("three\n", encoding="utf-8")
    (repository.folder / "deep/er").mkdir(parents=True)
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    repository.git("init", "--quiet", folder=fresh)
    (fresh / "first.txt").write_text("first\n", encoding="utf-8")
    repository.git("add", ".", folder=fresh)
    index = (fresh / ".git/index").read_bytes()

    assert "+three" in await changes_since(tmp_path / "worktree", "main")
    assert "+two" in await changes_since(repository.folder / "deep/er", "HEAD~0")
    assert "+first" in await staged_changes(fresh)
    assert (fresh / ".git/index").read_bytes() == index
