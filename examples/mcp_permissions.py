"""The tools of an MCP server, with permissions: some calls run, some are asked about, some never run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from maverick import AgentExecutor, ApprovalRequest, LLMClient, define_agent
from maverick.tools import Permissions
from maverick.tools.mcp import MCPToolset, ServerAddress

permissions = Permissions("ask", allow=["files_read*", "files_list*"], deny=["files_delete*"])


def ask(request: ApprovalRequest) -> bool:
    """Ask the person at the terminal."""
    return input(f"{request.tool_name} {request.arguments}? [y/n] ") == "y"


async def main(question: str, command: Sequence[str], client: LLMClient | None = None) -> str:
    """Answer a question with the tools of the server that this command starts."""
    async with MCPToolset("files", ServerAddress(command=command), prefix="files_") as files:
        archivist = define_agent(
            "archivist", "You look after files.", model="claude:claude-sonnet-5-5", tools=await files.tools()
        )
        async with AgentExecutor(client, permissions=permissions, approve=ask) as executor:
            result = await executor.execute(archivist, inputs={"prompt": question})
    for record in result.tool_calls:
        print(f"{record.tool_name}: {record.outcome}")
    return result.unwrap()


if __name__ == "__main__":
    filesystem = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
    print(asyncio.run(main(sys.argv[1], filesystem)))
