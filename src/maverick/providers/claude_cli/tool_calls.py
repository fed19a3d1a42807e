"""The tool calls that a CLI waits with until the loop has decided on them, and the server through which it calls ours.

Our tools are an MCP server in this process. It runs nothing: the loop runs the tools, as it does for every provider, and
a call that comes in waits until the loop has its result. So there is one definition of a tool, and one way to run it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypeAlias

from claude_agent_sdk import ToolPermissionContext, ToolResultBlock
from mcp.server import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult
from msgspec import Struct

from maverick.model import Tool

SERVER = "maverick"
_PREFIX = f"mcp__{SERVER}__"
_CALL_ID = "claudecode/toolUseId"
_WHOLE_RESULTS = {"anthropic/maxResultSizeChars": 500_000}
"""Or else the CLI puts long results into a file and shows its model the beginning; the loop has capped them."""

_CUT_OFF = "The CLI ended before this call had a result. It may or may not have taken effect."


class CallResult(Struct, frozen=True):
    """The result of a call, in the words the model reads."""

    content: str
    is_error: bool = False


class Leave(Struct, frozen=True):
    """The CLI may run the call itself."""

    approved: bool
    """Whether a person had to agree to it, and has."""


Decision: TypeAlias = CallResult | Leave
"""What the loop makes of a call: a result that is there already, or leave to go and get one."""


class WaitingCall:
    """One call: what the loop says to it, and what the CLI says came of it."""

    __slots__ = ("decision", "result")

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.decision: asyncio.Future[Decision] = loop.create_future()
        self.result: asyncio.Future[CallResult] = loop.create_future()


class WaitingCalls:
    """The calls of a conversation by their ids, whichever side speaks of one first."""

    def __init__(self) -> None:
        self._calls: dict[str, WaitingCall] = {}

    def __getitem__(self, call_id: str) -> WaitingCall:
        call = self._calls.get(call_id)
        if call is None:
            call = self._calls[call_id] = WaitingCall()
        return call

    def decide(self, call_id: str, decision: Decision) -> None:
        """Say what is to be done with a call; the first word stands."""
        call = self[call_id]
        if not call.decision.done():
            call.decision.set_result(decision)

    def finish(self, call_id: str, result: CallResult) -> None:
        """Note what came of a call."""
        call = self[call_id]
        if not call.result.done():
            call.result.set_result(result)

    def cut_off(self) -> None:
        """Give each call that the CLI was running the result that nobody knows of one."""
        for call_id in self._calls:
            self.finish(call_id, CallResult(_CUT_OFF, is_error=True))


def answer_of(block: ToolResultBlock) -> CallResult:
    """What a tool of the CLI answered, in words."""
    content = block.content
    if isinstance(content, list):
        content = "\n".join(str(piece.get("text") or f"[{piece.get('type')}]") for piece in content)
    return CallResult(content or "", is_error=bool(block.is_error))


def dangerous(context: ToolPermissionContext) -> str:
    """What is said to a call that the loop lets through, and that the CLI itself would ask a person about."""
    reason = (context.decision_reason or "it gives no reason").rstrip(". ")
    return (
        f"Not run: the CLI takes this call for dangerous ({reason}), and nobody had to agree to it. "
        "Do it in another way, or have the tool declared with approval=True."
    )


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
        assert isinstance(decision, CallResult)  # noqa: S101 - leave to run a call is given for tools of the CLI only
        content = [{"type": "text", "text": decision.content}]
        return CallToolResult.model_validate({"content": content, "isError": decision.is_error})

    return Server(SERVER, version="1", on_list_tools=list_tools, on_call_tool=call_tool)
