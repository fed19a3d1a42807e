"""What of a project holds: only what its user has trusted.

A project may have been written by a stranger. Whatever of it decides where data goes or what runs (the address, key and
provider of a model, places for runs and conversations, MCP servers, permissions that allow something, agents, modules,
skills and instructions) holds only after the user has trusted the folder once. Files are trusted as they were then: one that has changed
has to be trusted again. Agents, modules, skills and instructions are trusted by the folder they are in. What was granted is kept in the
user's own folder, never in the project.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from maverick.config.own_files import replace_file
from maverick.exceptions import ConfigError

SETTINGS_FILE, MCP_FILE, PERMISSIONS_FILE = "maverick.yaml", ".mcp.json", ".maverick/permissions.yaml"
"""The files of a project that are trusted by what is in them."""
FILES = (SETTINGS_FILE, MCP_FILE, PERMISSIONS_FILE)
AGENT_FOLDERS = (".maverick/agents", ".claude/agents")
"""Where a project has its agents."""
SKILL_FOLDERS = (".maverick/skills", ".claude/skills", ".agents/skills")
"""Where a project, or a user, has skills."""
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
"""What a project tells every agent that works on it; of two in one folder, the first counts."""
VARIABLE = "MAVERICK_TRUST"
"""More trusted folders, whatever is in them, separated as in ``PATH``."""
ADVICE = "Look at it, then run: maverick trust"

_FOLDER, _BY_PATH = "folder", "by path"
_GRANTS = "trust.json"


class AcceptedHashes:
    """Hashes of what a person has accepted, by owner and name, in a file; without one, as long as this object lives."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._hashes: dict[str, dict[str, str]] = {}
        self._read()

    def of(self, owner: str) -> Mapping[str, str] | None:
        """The hashes of an owner, if there ever were any."""
        return self._hashes.get(owner)

    def owners(self) -> list[str]:
        """Those of whom something was accepted."""
        return list(self._hashes)

    def remove(self, owner: str) -> bool:
        """Forget all that was accepted of an owner; returns whether there was anything."""
        self._read()
        if self._hashes.pop(owner, None) is None:
            return False
        self._write()
        return True

    def add(self, owner: str, hashes: Mapping[str, str]) -> None:
        """Accept something of an owner's, in place of what had the same names."""
        self._read()  # another process may have added to it
        self._hashes[owner] = {**self._hashes.get(owner, {}), **hashes}
        self._write()

    def _read(self) -> None:
        if self._file is None:
            return
        try:
            self._hashes = msgspec.json.decode(self._file.read_bytes(), type=dict[str, dict[str, str]])
        except FileNotFoundError:
            self._hashes = {}
        except (OSError, msgspec.DecodeError) as error:
            problem = f"{self._file} does not hold what was accepted. Remove it to be asked again."
            raise ConfigError(problem, source=str(self._file)) from error

    def _write(self) -> None:
        if self._file is not None:
            replace_file(self._file, msgspec.json.format(msgspec.json.encode(self._hashes, order="sorted")))


class Trust:
    """What a user has trusted, as kept in their home and named in the environment; without a home, nothing is kept."""

    def __init__(self, home: Path | None, environ: Mapping[str, str] | None = None) -> None:
        self._home = home
        self._granted = AcceptedHashes(None if home is None else home / ".maverick" / _GRANTS)
        listed = (os.environ if environ is None else environ).get(VARIABLE, "")
        self._listed = {folder_key(Path(folder)) for folder in listed.split(os.pathsep) if folder.strip()}

    def covers(self, folder: Path, file: str, content: bytes) -> bool:
        """Whether a file of a folder is trusted with what is in it."""
        is_inside = ".." not in Path(file).parts  # a folder that is listed says nothing of those above it
        return (is_inside and self._is_listed(folder)) or self._of(folder).get(file) == digest(content)

    def covers_folder(self, folder: Path) -> bool:
        """Whether the agents and modules of a folder are trusted; those in the user's home are their own."""
        is_home = self._home is not None and folder_key(self._home) == folder_key(folder)
        return is_home or self._is_listed(folder) or _FOLDER in self._of(folder)

    def grant(self, folder: Path, digests: Mapping[str, str]) -> None:
        """Trust a folder, and its files as they are told by their digests."""
        self._granted.add(folder_key(folder), {**digests, _FOLDER: _BY_PATH})

    def revoke(self, folder: Path) -> bool:
        """Stop trusting a folder; returns whether it was trusted."""
        return self._granted.remove(folder_key(folder))

    def folders(self) -> list[str]:
        """The folders that are trusted, in order."""
        return sorted({*self._granted.owners(), *self._listed})

    def _is_listed(self, folder: Path) -> bool:
        return folder_key(folder) in self._listed

    def _of(self, folder: Path) -> Mapping[str, str]:
        return self._granted.of(folder_key(folder)) or {}


def folders_of_project(folder: Path) -> list[Path]:
    """A folder, and those above it up to the root of its git repository, nearest first; alone if it is in none."""
    above = [folder.absolute(), *folder.absolute().parents]
    root = next((index for index, place in enumerate(above) if (place / ".git").exists()), 0)
    return above[: root + 1]


def digest(content: bytes) -> str:
    """What the content of a file is remembered by."""
    return hashlib.sha256(content).hexdigest()


def folder_key(folder: Path) -> str:
    """A folder by its real path, so that a link to it is no other folder."""
    try:
        return str(folder.expanduser().resolve())
    except (OSError, RuntimeError):  # links in a circle, or a person without a home
        return str(folder.absolute())
