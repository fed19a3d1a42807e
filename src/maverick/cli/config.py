"""``maverick config``: what is set and where it was set, and a file to set it in."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.formatting import Column, lay_out, terminal_width
from maverick.cli.json_text import json_text
from maverick.cli.new_file import write_new_file
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.config import AgentConfig, MaverickConfig, Secret, Setting
from maverick.config.loading import own_folder, persons_home
from maverick.config.mcp_servers import MCPServers, load_mcp_servers
from maverick.config.settings import MCP_SERVERS, SECTIONS, Section
from maverick.exceptions import MaverickError
from maverick.providers.resolve import resolve

_COLUMNS = (Column("SETTING"), Column("VALUE", shrinks=True), Column("FROM", shrinks=True))


def show_settings(options: argparse.Namespace) -> int:
    """Show what will be used, and the MCP servers with the program or host of each; secrets are hidden.

    Raises:
        ConfigError: A setting is wrong. MCP servers with problems are listed with the rest.
    """
    config, known = load_settings(), load_mcp_servers()
    screen = Screen.of_process(interactive=False)
    problems: list[MaverickError] = list(known.problems.values())
    settings = config.describe()
    try:
        answering = resolve(config.agent)
        settings = [*answering.describe(), *settings[len(AgentConfig.settings()) :]]
        answering.check()
    except MaverickError as error:
        problems.append(error)
    settings += _servers(known)
    if options.as_json:
        screen.say(f"{json_text([setting._asdict() for setting in settings])}\n")
        return SUCCESS
    rows = [
        (setting.field, "" if setting.value is None else str(setting.value), setting.source)
        for setting in settings
    ]
    screen.say("".join(f"{line}\n" for line in lay_out(_COLUMNS, rows, terminal_width())))
    for problem in problems:
        screen.complain(str(problem))
    return SUCCESS


def _servers(known: MCPServers) -> list[Setting]:
    """The servers by name; for one that cannot be used, only its source."""
    shown = {name: (server.summary, server.source) for name, server in known.servers.items()}
    wrong = {name: (None, problem.source or "") for name, problem in known.problems.items()}
    return [Setting(f"{MCP_SERVERS}.{name}", *found) for name, found in sorted((shown | wrong).items())]


_OWN_FILE, _PROJECT_FILE = "config.yaml", "maverick.yaml"
_PERSONS_OWN = ("api_key", "agents")
"""What a project's file may not set, or had better not: it is shared."""


def settings_files() -> list[Path]:
    """The files settings are read from, the later over the earlier; a person without a home has none of their own."""
    own = [] if persons_home() is None else [own_folder() / _OWN_FILE]
    return [*own, Path(_PROJECT_FILE).absolute()]


def show_files(options: argparse.Namespace) -> int:
    """Show the files, and whether they exist."""
    screen = Screen.of_process(interactive=False)
    files = settings_files()
    if options.as_json:
        found = [{"path": str(path), "exists": path.is_file()} for path in files]
        screen.say(f"{json_text(found)}\n")
        return SUCCESS
    for path in files:
        screen.say(f"{path}{'' if path.is_file() else '  (not there)'}\n")
    return SUCCESS


def write_file(options: argparse.Namespace) -> int:
    """Write a file that has every setting in a comment, for its owner only.

    Raises:
        InvalidInputError: The file exists, or cannot be written.
        ConfigError: The person has no home.
    """
    path = Path(_PROJECT_FILE).absolute() if options.project else own_folder() / _OWN_FILE
    write_new_file(path, "\n".join(_lines(project=options.project)) + "\n", force=options.force, private=True)
    Screen.of_process(interactive=False).say(f"{path}\n")
    return SUCCESS


def _lines(*, project: bool) -> Iterator[str]:
    yield "# Settings of Maverick. Take away the # before a line to set it; `maverick config show` shows what is set."
    yield ""
    for section in SECTIONS.values():
        yield f"# {section.section}:"
        yield from _settings(section(), "#   ", project=project)
    yield from _settings(MaverickConfig(), "# ", project=project)


def _settings(section: Section, indent: str, *, project: bool) -> Iterator[str]:
    for name, (_, expected) in section.settings().items():
        if name in SECTIONS or (project and name in _PERSONS_OWN):
            continue
        default = getattr(section, name)
        if isinstance(default, Secret):
            default = default.get_secret_value()
        shown = "" if default in (None, ()) else f" {str(default).lower() if default is False else default}"
        yield f"{indent}{name}:{shown}  # {expected}"
