"""The task server over MCP: its tools, the calls of them, and its questions, for a transport that knows the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

import maverick
from maverick.chat import phrases
from maverick.chat.task_session import Caller
from maverick.chat.task_tools import TASK_TOOLS
from maverick.chat.tool_server import MCPToolServer, as_result, failure
from maverick.tools.mcp.toolset import SEQUENTIAL

RequestContext: TypeAlias = ServerRequestContext[Any, Any]
FindCaller: TypeAlias = Callable[[RequestContext], Caller]
"""Returns the user a request acts for, from what the transport knows; raises ``PermissionError`` if it does not."""


def protocol_server(tools: MCPToolServer, find_caller: FindCaller) -> Server[Any]:
    """An MCP server of the tools, for a transport that knows the caller."""

    async def list_tools(
        _context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return _LISTING

    async def call_tool(
        context: RequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            caller = find_caller(context)
        except PermissionError:
            return _in_protocol(failure("forbidden", "Please sign in first."))
        if not await _hear(tools, caller, params.input_responses or {}):
            return _in_protocol(failure("declined", phrases.DECLINED))
        answer = await tools.call(params.name, params.arguments or {}, caller)
        return _question(context, answer) or _in_protocol(answer)

    return Server(
        "maverick-tasks",
        version=maverick.__version__,
        title="Maverick tasks",
        instructions="The tasks of one person: add, list, complete, change and delete them, and undo.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _hear(tools: MCPToolServer, caller: Caller, responses: Mapping[str, object]) -> bool:
    """Take in the user's answers to questions their program has shown; returns whether to go ahead."""
    agreed = True
    for asked, said in responses.items():
        approved = isinstance(said, types.ElicitResult) and said.action == "accept"
        await tools.decide(caller, asked, approved=approved)
        agreed = agreed and approved
    return agreed


def _question(context: RequestContext, answer: dict[str, Any]) -> types.InputRequiredResult | None:
    """A question for the client's program to show, if it can."""
    if answer["success"] or answer["error"]["code"] != "confirmation_required":
        return None
    capabilities = context.session.client_capabilities
    if (
        context.protocol_version not in MODERN_PROTOCOL_VERSIONS
        or capabilities is None
        or not capabilities.elicitation
    ):
        return None
    details = answer["error"]["details"]
    question = types.ElicitRequestFormParams(
        message=answer["error"]["message"], requested_schema={"type": "object", "properties": {}}
    )
    return types.InputRequiredResult(
        input_requests={details["confirmation"]: types.ElicitRequest(params=question)}
    )


def _in_protocol(answer: dict[str, Any]) -> types.CallToolResult:
    result = as_result(answer)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=result.text)],
        structured_content=result.data,
        is_error=result.is_error,
    )


_LISTING = types.ListToolsResult(
    tools=[
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=dict(tool.parameters),
            annotations=types.ToolAnnotations(
                read_only_hint=not tool.changes,
                destructive_hint=tool.destructive,
                idempotent_hint=not tool.changes,
                open_world_hint=False,
            ),
            _meta={SEQUENTIAL: True},
        )
        for tool in TASK_TOOLS
    ]
)
