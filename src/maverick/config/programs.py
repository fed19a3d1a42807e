"""Helper programs, such as git, ripgrep and bubblewrap: found where no agent can have put them, started with no secret.

An agent may write anything into its workspace, and folders of the workspace may be on ``PATH``: an activated virtual
environment, ``node_modules/.bin``. A helper that was found there would run with our rights, outside of the sandbox.
So every place on the way to a helper, each symbolic link included, has to lie outside of every workspace, and only
its owner may be able to write it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
_MOST_LINKS = 40
_workspaces: set[str] = set()


def note_workspace(folder: Path) -> None:
    """Remember a folder that agents may write: no helper is ever taken from it."""
    _workspaces.add(str(folder.resolve()))


def find_program(name: str, *, workspace: Path | None = None) -> str | None:
    """The path of a helper program; ``None`` if it is not on ``PATH``, or only where an agent could have put it.

    A name with a slash in it is a path that was chosen: it is only checked. ``workspace`` is one
    more folder that agents may write, besides those that are known.
    """
    if "/" in name:
        return name if _is_program(name) else None
    for folder in _safe_folders(workspace):
        path = f"{folder}/{name}"
        if _is_program(path) and _is_safe(path, _writable_folders(workspace)):
            return path
    return None


def is_out_of_reach(path: str, workspace: Path) -> bool:
    """Whether no agent that works in a folder, or in one that is known, can put something else in the place of a path."""
    return _is_safe(path, _writable_folders(workspace))


def plain_environment() -> dict[str, str]:
    """What a command is told of our environment: no keys, no tokens, nothing that is not on the list."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {"PATH": os.defpath, "TERM": "dumb", "GIT_TERMINAL_PROMPT": "0"} | kept


def helper_environment(workspace: Path | None = None) -> dict[str, str]:
    """What a helper is told of our environment: the same, and of ``PATH`` only what no agent can write."""
    return plain_environment() | {"PATH": os.pathsep.join(_safe_folders(workspace)) or os.defpath}


def _safe_folders(workspace: Path | None) -> list[str]:
    """The folders of ``PATH`` that a helper may be taken from."""
    forbidden = _writable_folders(workspace)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [folder for folder in folders if folder.startswith("/") and _is_safe(folder, forbidden)]


def _writable_folders(workspace: Path | None) -> set[str]:
    return _workspaces if workspace is None else _workspaces | {str(workspace.resolve())}


def _is_program(path: str) -> bool:
    return Path(path).is_file() and os.access(path, os.X_OK)


def _is_safe(path: str, forbidden: Iterable[str]) -> bool:
    """Whether no agent, and no other user, can put something else in the place of a path."""
    roots = tuple(f"{root.rstrip('/')}/" for root in forbidden)
    try:
        return not any(f"{place}/".startswith(roots) or _is_open_to_all(place) for place in _places(path))
    except OSError:
        return False


def _is_open_to_all(place: str) -> bool:
    """Whether any user may write a file, or replace what is in a folder."""
    mode = os.lstat(place).st_mode
    return not stat.S_ISLNK(mode) and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _places(path: str) -> Iterator[str]:
    """Every place on the way to a path, links followed one at a time; an ``OSError`` if it leads nowhere."""
    place, left, links = "", path.split("/")[::-1], 0
    while left:
        name = left.pop()
        if name == "..":
            place = place.rpartition("/")[0]
        if name in ("", ".", ".."):
            continue
        here = f"{place}/{name}"
        yield here
        if stat.S_ISLNK(os.lstat(here).st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(f"{path} leads in a circle")
            target = os.readlink(here)  # noqa: PTH115 - a text is what is walked
            place = "" if target.startswith("/") else place
            left += target.split("/")[::-1]
        else:
            place = here
