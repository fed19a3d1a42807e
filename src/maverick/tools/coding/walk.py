"""The files of a workspace, found without following a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from maverick.exceptions import ToolError
from maverick.tools.coding.workspace import Workspace
from maverick.tools.glob import PathGlob

SKIPPED = frozenset({".git", ".maverick", ".venv", "__pycache__", "node_modules"})
"""Folders of programs, not of people; they are looked into only when they are named."""

_MOST_ENTRIES = 200_000
"""A tree with more is cut off there, so that no walk takes forever."""


class Found(NamedTuple):
    """Something in the workspace."""

    path: str
    is_folder: bool
    is_file: bool


def walk(workspace: Workspace, start: str) -> Iterator[Found]:
    """Everything below a folder, in alphabetical order within each folder.

    Raises:
        ToolError: The folder is not there.
    """
    names = workspace.locate(start)
    left = _MOST_ENTRIES
    folders = [names]
    while folders:
        folder = folders.pop()
        try:
            entries = _entries(workspace, folder)
        except ToolError:
            if folder == names:
                raise
            continue  # it went away, or became something else, since it was seen
        inner: list[tuple[str, ...]] = []
        for found in entries:
            left -= 1
            if left < 0:
                return
            yield found
            name = found.path.rpartition("/")[2]
            if found.is_folder and name not in SKIPPED:
                inner.append((*folder, name))
        folders += reversed(inner)


def _entries(workspace: Workspace, folder: tuple[str, ...]) -> list[Found]:
    with workspace.open_folder(folder) as descriptor, os.scandir(descriptor) as scanned:
        return sorted(
            Found(
                "/".join((*folder, entry.name)),
                entry.is_dir(follow_symlinks=False),
                entry.is_file(follow_symlinks=False),
            )
            for entry in scanned
        )


def named(pattern: str) -> PathGlob:
    """A pattern for paths below a folder; without a slash it is for names, in any folder."""
    return PathGlob(pattern.removeprefix("./") if "/" in pattern else f"**/{pattern}")
