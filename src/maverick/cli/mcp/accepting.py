"""``maverick mcp accept``: tools of a server that are not what they were."""

from __future__ import annotations

import asyncio

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.screen import Screen
from maverick.config.mcp_server import MCPServer
from maverick.config.mcp_servers import load_mcp_servers
from maverick.tools.mcp.servers import ConfiguredServers


def accept(name: str, tool: str | None) -> int:
    """Accept the tools of a server as they are now.

    Args:
        name: The server.
        tool: The only tool to accept, by the server's name; by default all.

    Raises:
        ConfigError: There is no such server, or it is one of a project that is not trusted.
        NetworkError: It can not be reached.
        InvalidToolError: It has no such tool.
    """
    server = load_mcp_servers().find(name)
    screen = Screen.of_process(interactive=False)
    accepted = asyncio.run(_accept_tools(server, tool))
    screen.say("".join(f"accepted the tool {changed}\n" for changed in accepted) or "no tool has changed\n")
    return SUCCESS


async def _accept_tools(server: MCPServer, tool: str | None) -> list[str]:
    async with ConfiguredServers([server]) as connected:
        return await connected.servers[0].accept(tool)
