"""The settings of a command: a project that is not trusted is asked about where somebody can answer, else left out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from maverick.cli.screen import Screen
from maverick.config import MaverickConfig, load_config
from maverick.config.loading import persons_home
from maverick.config.trust import ADVICE, AGENT_FOLDERS, FILES, Trust

if TYPE_CHECKING:
    from maverick.cli.trust.project import Untrusted

_YES, _NO = ("y", "yes"), ("n", "no", "")


def load_settings(*, asks: bool = False, as_json: bool = False) -> MaverickConfig:
    """The settings, with those of the project as far as the person trusts it.

    Args:
        asks: Whether to ask about a project that is not trusted, if somebody is there to answer.
        as_json: Whether other programs read what is written, so that nothing is asked.

    Raises:
        ConfigError: A setting is wrong.
    """
    folder = Path.cwd()
    if any((folder / name).exists() for name in (*FILES, *AGENT_FOLDERS)):
        _consider(folder, can_ask=asks and not as_json and sys.stdin.isatty() and sys.stderr.isatty())
    return load_config()


def _consider(folder: Path, *, can_ask: bool) -> None:
    from maverick.cli.trust.project import untrusted_in  # here, since most folders have nothing to look at

    if untrusted := untrusted_in(folder):
        screen = Screen(sys.stdout, sys.stderr, colour=False)
        if not (can_ask and _agreed_to(folder, untrusted, screen)):
            names = ", ".join(dict.fromkeys(part.name for part in untrusted))
            screen.remark(
                f"({names}: not trusted, so what decides where data goes or what runs is left out. {ADVICE})"
            )


def trust_folder(folder: Path, untrusted: list[Untrusted]) -> None:
    """Trust a folder, and its files as they were looked at.

    Raises:
        ConfigError: There is nowhere to keep it.
    """
    Trust(persons_home()).grant(folder, {part.name: part.digest for part in untrusted if part.digest})


def show(untrusted: list[Untrusted], screen: Screen) -> None:
    """Show what each part would decide."""
    for part in untrusted:
        screen.headline(f"{part.name}:")
        for line in part.lines:
            screen.remark(f"  {line}")


def _agreed_to(folder: Path, untrusted: list[Untrusted], screen: Screen) -> bool:
    screen.headline(f"{folder} decides where your data goes or what runs:")
    show(untrusted, screen)
    screen.headline("Do you trust it, now and later, as long as these files stay as they are?")
    if not _says_yes(screen):
        return False
    trust_folder(folder, untrusted)
    return True


def _says_yes(screen: Screen) -> bool:
    """Whether the person at the terminal says yes; nothing else goes on while they think."""
    import termios  # here, since not every system has it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # what was typed before is no answer to this
    while True:
        screen.prompt("[y]es or [N]o: ")
        typed = os.read(sys.stdin.fileno(), 4096)
        answer = typed.decode(errors="replace").strip().lower()
        if not typed or answer in _YES + _NO:
            return answer in _YES
