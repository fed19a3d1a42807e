"""``maverick config show``: every setting, its value, and where it was set."""

from __future__ import annotations

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.json_text import json_text
from maverick.cli.screen import Screen
from maverick.cli.table import Column, lay_out, terminal_width
from maverick.cli.trust.asking import load_settings
from maverick.config import AgentConfig, Setting
from maverick.config.mcp_servers import MCPServers, load_mcp_servers
from maverick.config.settings import MCP_SERVERS
from maverick.exceptions import MaverickError
from maverick.providers.resolve import resolve

_COLUMNS = (Column("SETTING"), Column("VALUE", shrinks=True), Column("FROM", shrinks=True))


def show_settings(*, as_json: bool) -> int:
    """Show what will be used, and the MCP servers with the program or host of each; secrets are hidden.

    Raises:
        ConfigError: A setting is wrong. What can not be used is told of beside the rest.
    """
    config, known = load_settings(), load_mcp_servers()
    screen = Screen.of_process(interactive=False)
    problems: list[MaverickError] = list(known.problems.values())
    settings = config.describe()
    try:
        answering = resolve(config.agent)
        settings = [*answering.describe(), *settings[len(AgentConfig.rules()) :]]
        answering.check()
    except MaverickError as error:
        problems.append(error)
    settings += _servers(known)
    if as_json:
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
    """The servers by name; of one that can not be used, where it is named."""
    shown = {name: (server.summary, server.source) for name, server in known.servers.items()}
    wrong = {name: (None, problem.source or "") for name, problem in known.problems.items()}
    return [Setting(f"{MCP_SERVERS}.{name}", *found) for name, found in sorted((shown | wrong).items())]
