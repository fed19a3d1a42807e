"""What a user and a project tell every coding agent: ``AGENTS.md``, or ``CLAUDE.md`` where there is none.

The user's own is ``~/.maverick/AGENTS.md``, or else ``~/.claude/CLAUDE.md``. A project's are those of the current folder
and of the folders above it, up to the root of its git repository; the nearest comes last. They are instructions, so they
count only after the user has trusted the folder. A file above it counts if that folder is trusted too, or if the user
has trusted this very content together with the current folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from maverick.config.trust import INSTRUCTION_FILES, Trust, digest, folders_of_project

LARGEST = 64 * 1024
"""The bytes of a file that agents are told; the rest is left out."""
_OWN_FILES = (".maverick/AGENTS.md", ".claude/CLAUDE.md")


class InstructionFile(Struct, frozen=True):
    """A file with instructions for agents."""

    name: str
    """Its path relative to the project's folder, or from the user's home."""
    content: bytes
    folder: Path
    """The folder it is in."""

    @property
    def digest(self) -> str:
        """What its content is remembered by."""
        return digest(self.content)

    def is_trusted(self, folder: Path, trust: Trust) -> bool:
        """Whether it counts for agents in a folder."""
        by_content = self.folder != folder.absolute() and trust.covers(folder, self.name, self.content)
        return by_content or trust.covers_folder(self.folder)


def project_instructions(folder: Path) -> list[InstructionFile]:
    """The files of a project, trusted or not, the outermost first."""
    places = folders_of_project(folder)
    found = (_first(place, INSTRUCTION_FILES, within=places[-1]) for place in reversed(places))
    return [
        InstructionFile(os.path.relpath(path, folder.absolute()), content, path.parent)
        for path, content in filter(None, found)
    ]


def instructions_for(folder: Path, home: Path | None, trust: Trust) -> str:
    """What agents in a folder are told by the user and, as far as it is trusted, by the project."""
    return "\n\n".join(_parts(folder, home, trust))


def _parts(folder: Path, home: Path | None, trust: Trust) -> Iterator[str]:
    own = None if home is None else _first(home, _OWN_FILES)
    if own is not None:
        yield _told("The user's instructions", f"~/{own[0].relative_to(home or '')}", own[1])
    for file in project_instructions(folder):
        if file.is_trusted(folder, trust):
            yield _told("The project's instructions", file.name, file.content)


def _told(whose: str, name: str, content: bytes) -> str:
    text = content[:LARGEST].decode("utf-8", "replace").strip()
    rest = "\n[the rest of the file is left out: it is too long]" if len(content) > LARGEST else ""
    return f"{whose}, from {name}:\n\n{text}{rest}"


def _first(place: Path, names: tuple[str, ...], within: Path | None = None) -> tuple[Path, bytes] | None:
    """The first of these files that has something in it; none that a link takes out of the project."""
    for name in names:
        path = place / name
        try:
            real = path.resolve(strict=True)
            if real.is_file() and (within is None or real.is_relative_to(within.resolve())):
                with real.open("rb") as file:
                    if content := file.read(LARGEST + 1).strip():
                        return path, content
        except (OSError, RuntimeError):  # it does not exist or cannot be read, or links lead in a circle
            continue
    return None
