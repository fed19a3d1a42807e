"""The settings of a command. A project that is not trusted is asked about where a person can answer, else left out."""

from __future__ import annotations

import sys
from pathlib import Path

from maverick.config import MaverickConfig, load_config
from maverick.config.trust import AGENT_FOLDERS, FILES, INSTRUCTION_FILES, SKILL_FOLDERS, folders_of_project


def load_settings(*, asks: bool = False, as_json: bool = False) -> MaverickConfig:
    """The settings, with those of the project as far as the person trusts it.

    With ``asks``, they are asked about a project that is not trusted, unless there is no terminal or programs read the JSON.
    """
    folder = Path.cwd()
    names = (*FILES, *AGENT_FOLDERS, *SKILL_FOLDERS, *INSTRUCTION_FILES)
    above = folders_of_project(folder)[1:]
    if any((folder / name).exists() for name in names) or any(
        (place / name).exists() for place in above for name in INSTRUCTION_FILES
    ):
        from maverick.cli.trust import (
            ask_for_trust,  # here, since most folders have nothing to look at
        )

        ask_for_trust(folder, can_ask=asks and not as_json and sys.stdin.isatty() and sys.stderr.isatty())
    return load_config()
