"""Tells commands that install packages: code of others, which runs when it is installed or used."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from itertools import dropwhile

_INSTALL = frozenset({"install"})
_INSTALLERS: Mapping[str, AbstractSet[str]] = {
    **dict.fromkeys(("pip", "pip3", "easy_install", "gem", "bundle", "cargo", "go"), _INSTALL),
    **dict.fromkeys(("apt", "apt-get", "dnf", "yum", "zypper", "brew", "port"), _INSTALL),
    **dict.fromkeys(("npm", "pnpm", "bun"), _INSTALL | {"i", "add", "ci", "update", "up"}),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _INSTALL | {"create", "update"}),
    **dict.fromkeys(("poetry", "pdm"), _INSTALL | {"add", "sync", "update"}),
    "pipx": _INSTALL | {"inject", "upgrade"},
    "uv": frozenset({"add", "sync", "pip", "tool"}),
    "yarn": _INSTALL | {"add", "up"},
    "composer": _INSTALL | {"require", "update"},
    "apk": frozenset({"add"}),
}


def install_question(command: str) -> str:
    """Why a person has to be asked about a command line that seems to install packages; empty if it does not.

    It catches what a model would write. A command that hides what it does is the sandbox's to hold.
    """
    words = [word.strip("'\"`()") for word in command.split()]
    for index, word in enumerate(words):
        program = word.rpartition("/")[2]
        verbs = _INSTALLERS.get(program)
        rest = dropwhile(lambda later: later.startswith("-"), words[index + 1 : index + 8])
        if verbs is not None and next(rest, "") in verbs:
            return f"it installs packages ({program}), which is code of others that runs here."
    return ""
