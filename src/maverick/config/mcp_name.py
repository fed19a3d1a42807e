"""What tools of MCP servers are called: ``mcp__server__tool``, and ``mcp__server`` for all tools of a server."""

from __future__ import annotations

_BEGINNING, _BETWEEN = "mcp__", "__"


def group_of(server: str) -> str:
    """The name that stands for all tools of a server."""
    return f"{_BEGINNING}{server}"


def prefix_of(server: str) -> str:
    """What the names of a server's tools begin with."""
    return f"{_BEGINNING}{server}{_BETWEEN}"


def server_of(tool: str) -> str | None:
    """The server that a name of one or all of its tools is about; nothing if it is another tool's name."""
    if not tool.startswith(_BEGINNING):
        return None
    return tool.removeprefix(_BEGINNING).partition(_BETWEEN)[0]
