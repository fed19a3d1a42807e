"""``maverick mcp accept``: a server that the project defines, or tools that are not what they were."""

from __future__ import annotations

import asyncio

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.mcp.agreeing import definition_lines
from maverick.cli.screen import Screen
from maverick.config.mcp_server import MCPServer
from maverick.config.mcp_servers import load_mcp_servers
from maverick.tools.mcp.configured import ConfiguredServers, kept_consent


def accept(name: str, tool: str | None) -> int:
    """Agree to a server of the project as it is defined now, and to its tools as they are now.

    Args:
        name: The server.
        tool: The only tool to accept, by the server's name; by default all.

    Raises:
        ConfigError: There is no such server.
        NetworkError: It can not be reached.
        InvalidToolError: It has no such tool.
    """
    server, consent = load_mcp_servers().find(name), kept_consent()
    screen = Screen.of_process(interactive=False)
    if not consent.is_given(server):
        _, *lines = definition_lines(server)
        for line in (f"{server.source}: MCP server {name}", *lines):
            screen.remark(line)
        consent.give(server)
        screen.say(f"accepted the server {name}\n")
    accepted = asyncio.run(_accept_tools(server, tool))
    screen.say("".join(f"accepted the tool {changed}\n" for changed in accepted) or "no tool has changed\n")
    return SUCCESS


async def _accept_tools(server: MCPServer, tool: str | None) -> list[str]:
    async with ConfiguredServers([server]) as connected:
        return await connected.servers[0].accept(tool)
