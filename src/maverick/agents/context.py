"""Where an agent works: the folder, the branch, the settings, and whatever else it was given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from maverick.config import MaverickConfig, load_config
from maverick.misuse import refuse

NO_BRANCH = "(no branch)"
"""The branch of a folder that is in no git repository; git allows no branch of this name."""

_HEAD = r"ref:\s*(?:refs/heads/)?(?P<branch>[^\x00-\x20\x7f]+)|(?P<commit>[0-9a-f]{40,64})"
_UNTOLD = ".invalid"  # what HEAD says in a repository that keeps its branches in a reftable


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What an agent is told of its surroundings when it runs. That of the chat is :class:`maverick.chat.AgentContext`.

    Args:
        cwd: The folder to work in; it must exist.
        branch: The git branch that is checked out there.
        config: The settings.
        extra: Whatever else a particular agent needs.

    Raises:
        InvalidInputError: ``cwd`` is not a folder, ``branch`` is empty, or ``config`` or ``extra`` is something else.
    """

    cwd: Path
    branch: str
    config: MaverickConfig
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _existing_folder(self.cwd)
        if not isinstance(self.branch, str) or not self.branch.strip():
            refuse("branch", f"expected a name, got {self.branch!r}. Outside of git, use {NO_BRANCH!r}.")
        if not isinstance(self.config, MaverickConfig):
            refuse("config", f"expected a MaverickConfig, got {self.config!r}. load_config() makes one.")
        if not isinstance(self.extra, dict):
            refuse("extra", f"expected a dict, got {self.extra!r}.")

    @classmethod
    def from_cwd(cls, cwd: Path, config: MaverickConfig | None = None) -> Self:
        """The context of a folder, with the branch that git has checked out there.

        The branch is read from the repository's files, so git need not be installed. It is a short commit hash
        when no branch is checked out, and ``NO_BRANCH`` outside of a repository or when the files do not tell.

        Args:
            cwd: The folder to work in; it is made absolute.
            config: The settings; by default, those :func:`~maverick.config.load_config` finds for the folder.

        Raises:
            InvalidInputError: ``cwd`` is not a folder.
            ConfigError: ``config`` is not given, and the settings that were found are wrong.
        """
        folder = _existing_folder(cwd)
        return cls(folder, _branch_of(folder), load_config(cwd=folder) if config is None else config)


def _branch_of(folder: Path) -> str:
    real_folder = folder.resolve()
    for place in (real_folder, *real_folder.parents):
        head = _read_line(_git_folder(place / ".git") / "HEAD")
        if match := re.fullmatch(_HEAD, head):
            commit: str | None = match["commit"]
            name = commit[:7] if commit else match["branch"]
            return NO_BRANCH if name == _UNTOLD else name
    return NO_BRANCH


def _git_folder(entry: Path) -> Path:
    """The folder that ``.git`` is, or that it points to in a worktree or a submodule."""
    pointer = _read_line(entry)
    return entry.parent / pointer.removeprefix("gitdir: ") if pointer.startswith("gitdir: ") else entry


def _read_line(path: Path) -> str:
    """The first line of a small file, or nothing if it is not one."""
    try:
        if path.is_file():  # opening a pipe would wait for a writer
            with path.open(encoding="utf-8", errors="replace") as file:
                return file.readline(4096).rstrip()
    except OSError:
        pass  # what cannot be read tells nothing
    return ""


def _existing_folder(path: Path) -> Path:
    """The path made absolute, if it is a folder."""
    try:
        folder = path.absolute()
        exists = folder.is_dir()
    except (OSError, AttributeError):  # the name is too long, the way there is barred, or it is no path
        exists = False
    if not exists:
        refuse("cwd", f"expected the Path of an existing folder, got {path!r}. Create it, or choose another.")
    return folder
