"""Our own tools as an MCP server in this process, for the CLI to call.

It runs nothing. The loop runs the tools, as it does for every provider; a call that comes in here waits until the
loop has its result. So there is one definition of a tool, and one way it is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp.server import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult

from maverick.model import Tool
from maverick.providers.claude_cli.whole_run.calls import Answer, WaitingCalls

SERVER = "maverick"
_PREFIX = f"mcp__{SERVER}__"
_CALL_ID = "claudecode/toolUseId"
_WHOLE_RESULTS = {"anthropic/maxResultSizeChars": 500_000}
"""Or else the CLI puts long results into a file and shows its model the beginning; the loop has capped them."""


def wire_name(name: str) -> str:
    """What the CLI calls a tool of this server."""
    return _PREFIX + name


def own_name(name: str) -> str | None:
    """What we call a tool the CLI asks for; ``None`` if it is one of its own."""
    return name.removeprefix(_PREFIX) if name.startswith(_PREFIX) else None


def tool_server(tools: Sequence[Tool], calls: WaitingCalls) -> Server[Any]:
    """The server.

    Args:
        tools: What it offers.
        calls: Where the results will be.
    """
    offered = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": dict(tool.parameters),
            "_meta": _WHOLE_RESULTS,
        }
        for tool in tools
    ]
    listed = ListToolsResult.model_validate({"tools": offered})

    async def list_tools(_context: object, _params: object) -> ListToolsResult:
        return listed

    async def call_tool(_context: object, params: CallToolRequestParams) -> CallToolResult:
        decision = await calls[str(dict(params.meta or {})[_CALL_ID])].decision
        assert isinstance(decision, Answer)  # noqa: S101 - leave to run a call is given for tools of the CLI only
        content = [{"type": "text", "text": decision.content}]
        return CallToolResult.model_validate({"content": content, "isError": decision.is_error})

    return Server(SERVER, version="1", on_list_tools=list_tools, on_call_tool=call_tool)
