"""``maverick mcp``: tools of MCP servers for agents, and one's tasks for other programs."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.formatting import Column, lay_out, table_width
from maverick.cli.json_text import json_text
from maverick.cli.screen import Screen, one_line
from maverick.config.mcp_server import MCPServer
from maverick.config.mcp_servers import MCPServers, load_mcp_servers
from maverick.exceptions import MaverickError
from maverick.tools.mcp import ConfiguredServer, connected_servers, prompts_of

_COLUMNS = (
    Column("SERVER"),
    Column("TRANSPORT"),
    Column("STATE"),
    Column("TOOL", shrinks=True),
    Column("EFFECT"),
    Column("ASKS"),
)


def list_servers(options: argparse.Namespace) -> int:
    """List servers, and connect to each to see its tools; one of a project that is not trusted is not started.

    Raises:
        ConfigError: A file cannot be read, or there is no server of a name.
    """
    names = options.servers
    known = load_mcp_servers()
    for name in names:
        if name not in known.untrusted:
            known.find(name)
    screen = Screen.of_process(interactive=False)
    found = asyncio.run(_looked_at(known, names or sorted({*known.servers, *known.problems})))
    if options.as_json:
        screen.say(f"{json_text(found)}\n")
        return SUCCESS
    if not found:
        screen.remark("There are no MCP servers. Add one with: maverick mcp add")
        return SUCCESS
    rows = [row for server in found for row in _rows(server)]
    screen.say("".join(f"{line}\n" for line in lay_out(_COLUMNS, rows, table_width())))
    for server in found:
        for tool in server["tools"]:
            if tool["quarantined"]:
                screen.remark(f"{server['name']}: {tool['name']} says now: {one_line(tool['description'])}")
        for prompt in server["prompts"]:
            screen.remark(one_line(f"{prompt['usage']}  {prompt['description']}"))
        if server["problem"]:
            screen.complain(server["problem"])
    return SUCCESS


async def _looked_at(known: MCPServers, names: Sequence[str]) -> list[dict[str, Any]]:
    return await asyncio.gather(*(_fields(known, name) for name in names))


async def _fields(known: MCPServers, name: str) -> dict[str, Any]:
    """A server, as JSON tells it; nothing of its definition that could be a secret."""
    fields: dict[str, Any] = {"name": name, "transport": None, "source": None, "state": "failed"}
    fields |= {"tools": [], "prompts": [], "problem": None}
    if name in known.untrusted:
        problem = known.problems[name]
        return fields | {"source": problem.source, "state": "not trusted", "problem": str(problem)}
    try:
        server = known.find(name)
        fields |= {"transport": server.transport, "source": server.source}
        connected = ConfiguredServer(server)
        try:
            await connected.connect()
            prompts = [
                {"command": prompt.command, "usage": prompt.usage, "description": prompt.description}
                for prompt in await prompts_of(connected)
            ]
            return fields | {"state": "reached", "tools": [*_tools(connected)], "prompts": prompts}
        finally:
            await connected.aclose()
    except MaverickError as error:
        return fields | {"problem": str(error)}


def _tools(connected: ConfiguredServer) -> Iterator[dict[str, Any]]:
    for tool in connected.tools:
        yield {
            "name": tool.name,
            "description": tool.description,
            "effect": tool.effect.value,
            "approval": tool.approval,
            "quarantined": False,
        }
    for name, description in connected.quarantined.items():
        yield {
            "name": name,
            "description": description,
            "effect": None,
            "approval": None,
            "quarantined": True,
        }


def _rows(server: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    begins = (server["name"], server["transport"] or "", server["state"])
    for tool in server["tools"]:
        effect = "quarantined" if tool["quarantined"] else tool["effect"]
        yield (*begins, tool["name"], effect, "yes" if tool["approval"] else "")
        begins = ("", "", "")
    if not server["tools"]:
        yield (*begins, "", "", "")


def accept(options: argparse.Namespace) -> int:
    """Accept the tools of a server as they are now.

    Raises:
        ConfigError: There is no such server, or it is one of a project that is not trusted.
        NetworkError: It cannot be reached.
        InvalidToolError: It has no such tool.
    """
    server = load_mcp_servers().find(options.server)
    screen = Screen.of_process(interactive=False)
    accepted = asyncio.run(_accept_tools(server, options.tool))
    screen.say("".join(f"accepted the tool {changed}\n" for changed in accepted) or "no tool has changed\n")
    return SUCCESS


async def _accept_tools(server: MCPServer, tool: str | None) -> list[str]:
    async with connected_servers([server]) as (connected,):
        return await connected.accept(tool)
