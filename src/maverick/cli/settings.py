"""The settings of a command. A project that is not trusted is asked about where a person can answer, else left out."""

from __future__ import annotations

import sys
from pathlib import Path

from maverick.config import MaverickConfig, load_config
from maverick.config.trust import AGENT_FOLDERS, FILES, INSTRUCTION_FILES, SKILL_FOLDERS, folders_of_project


def load_settings(*, asks: bool = False, as_json: bool = False, for_agents: bool = False) -> MaverickConfig:
    """The settings, with those of the project as far as the person trusts it.

    With ``asks``, they are asked about a project that is not trusted, unless there is no terminal or programs read the JSON.
    What a project has for agents alone is of interest to commands ``for_agents`` only.
    """
    folder = Path.cwd()
    names = [*FILES, *AGENT_FOLDERS, *SKILL_FOLDERS, *INSTRUCTION_FILES] if for_agents else FILES
    above = folders_of_project(folder)[1:] if for_agents else ()
    if any((folder / name).exists() for name in names) or any(
        (place / name).exists() for place in above for name in INSTRUCTION_FILES
    ):
        from maverick.cli.trust import ask_for_trust  # here, since most folders have nothing to look at

        can_ask = asks and not as_json and sys.stdin.isatty() and sys.stderr.isatty()
        ask_for_trust(folder, can_ask=can_ask, for_agents=for_agents)
    return load_config()
