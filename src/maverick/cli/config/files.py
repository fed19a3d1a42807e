"""``maverick config path`` and ``init``: the files that settings are read from, and a new one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.json_text import json_text
from maverick.cli.new_file import write_new_file
from maverick.cli.screen import Screen
from maverick.config import AgentConfig, MaverickConfig, Secret
from maverick.config.loading import own_folder, persons_home
from maverick.config.section import Section

_OWN_FILE, _PROJECT_FILE = "config.yaml", "maverick.yaml"
_PERSONS_OWN = ("api_key", "agents")
"""What a project's file may not set, or had better not: it is shared."""


def settings_files() -> list[Path]:
    """The files settings are read from, the later over the earlier; a person without a home has none of their own."""
    own = [] if persons_home() is None else [own_folder() / _OWN_FILE]
    return [*own, Path(_PROJECT_FILE).absolute()]


def show_files(*, as_json: bool) -> int:
    """Show the files, and whether they are there."""
    screen = Screen.of_process(interactive=False)
    files = settings_files()
    if as_json:
        found = [{"path": str(path), "exists": path.is_file()} for path in files]
        screen.say(f"{json_text(found)}\n")
        return SUCCESS
    for path in files:
        screen.say(f"{path}{'' if path.is_file() else '  (not there)'}\n")
    return SUCCESS


def write_file(*, project: bool, force: bool) -> int:
    """Write a file that has every setting in a comment, for its owner only.

    Args:
        project: Whether for the current folder, in place of the person's own.
        force: Whether to write over a file that is there.

    Raises:
        InvalidInputError: The file is there, or can not be written.
        ConfigError: The person has no home.
    """
    path = Path(_PROJECT_FILE).absolute() if project else own_folder() / _OWN_FILE
    write_new_file(path, "\n".join(_lines(project=project)) + "\n", force=force, private=True)
    Screen.of_process(interactive=False).say(f"{path}\n")
    return SUCCESS


def _lines(*, project: bool) -> Iterator[str]:
    yield "# Settings of Maverick. Take away the # before a line to set it; `maverick config show` shows what is set."
    yield ""
    yield "# agent:"
    yield from _settings(AgentConfig(), "#   ", project=project)
    yield from _settings(MaverickConfig(), "# ", project=project)


def _settings(section: Section, indent: str, *, project: bool) -> Iterator[str]:
    for name, rule in section.rules().items():
        if name == AgentConfig.section or (project and name in _PERSONS_OWN):
            continue
        default = getattr(section, name)
        if isinstance(default, Secret):
            default = default.get_secret_value()
        shown = "" if default in (None, ()) else f" {default}"
        yield f"{indent}{name}:{shown}  # {rule.expected}"
