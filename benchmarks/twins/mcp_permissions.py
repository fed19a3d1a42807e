"""The tools of an MCP server, with permissions: some calls run, some are asked about, some never run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolDefinition,
    ToolReturnPart,
)
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.mcp import MCPToolset


def may_be_asked(context: RunContext, tool: ToolDefinition) -> bool:
    return not tool.name.startswith("files_delete")


def has_to_be_asked(context: RunContext, tool: ToolDefinition, arguments: dict[str, Any]) -> bool:
    return not tool.name.startswith(("files_read", "files_list"))


def ask(context: RunContext, requests: DeferredToolRequests) -> DeferredToolResults:
    return requests.build_results(
        approvals={
            call.tool_call_id: input(f"{call.tool_name} {call.args}? [y/n] ") == "y"
            for call in requests.approvals
        }
    )


archivist = Agent(
    "anthropic:claude-sonnet-5-5",
    instructions="You look after files.",
    capabilities=[HandleDeferredToolCalls(ask)],
)


async def main(question: str, command: Sequence[str]) -> str:
    files = MCPToolset(StdioTransport(command[0], list(command[1:])))
    allowed = files.prefixed("files").filtered(may_be_asked).approval_required(has_to_be_asked)
    result = await archivist.run(question, toolsets=[allowed])
    for message in result.new_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                print(f"{part.tool_name}: {part.outcome}")
    return result.output


if __name__ == "__main__":
    filesystem = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
    print(asyncio.run(main(sys.argv[1], filesystem)))
