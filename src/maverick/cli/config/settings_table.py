"""``maverick config show``: every setting, its value, and where it was set."""

from __future__ import annotations

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.json_text import json_text
from maverick.cli.screen import Screen
from maverick.cli.table import Column, lay_out, terminal_width
from maverick.config import Setting, load_config
from maverick.config.mcp_servers import MCPServers, load_mcp_servers
from maverick.config.settings import MCP_SERVERS

_COLUMNS = (Column("SETTING"), Column("VALUE", shrinks=True), Column("FROM", shrinks=True))


def show_settings(*, as_json: bool) -> int:
    """Show the settings, and the MCP servers with the program or host of each; secrets are hidden.

    Raises:
        ConfigError: One of them is wrong. A server that can not be used is told of beside the others.
    """
    config, known = load_config(), load_mcp_servers()
    settings = [*config.describe(), *_servers(known)]
    screen = Screen.of_process(interactive=False)
    if as_json:
        screen.say(f"{json_text([setting._asdict() for setting in settings])}\n")
        return SUCCESS
    rows = [
        (setting.field, "" if setting.value is None else str(setting.value), setting.source)
        for setting in settings
    ]
    screen.say("".join(f"{line}\n" for line in lay_out(_COLUMNS, rows, terminal_width())))
    for problem in known.problems.values():
        screen.complain(str(problem))
    return SUCCESS


def _servers(known: MCPServers) -> list[Setting]:
    """The servers by name; of one that can not be used, where it is named."""
    shown = {name: (server.summary, server.source) for name, server in known.servers.items()}
    wrong = {name: (None, problem.source or "") for name, problem in known.problems.items()}
    return [Setting(f"{MCP_SERVERS}.{name}", *found) for name, found in sorted((shown | wrong).items())]
