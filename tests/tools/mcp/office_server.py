"""An MCP server that misbehaves on request, in this process or as a program: ``python office_server.py LOG``."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = {
    "echo": "Says it again.",
    "read": "Reads, and changes nothing.",
    "whoami": "Says whose key it has.",
    "die": "Writes it down, and dies.",
    "read_and_die_once": "Dies the first time.",
    "sleep": "Takes too long.",
    "fail": "Fails.",
    "picture": "Shows a picture.",
}


class Office:
    """The server.

    Args:
        log: Where it writes down what it did.
        tools: Its tools, by name and description.
        whose: Whose key it was given.
    """

    def __init__(self, log: Path, tools: dict[str, str] | None = None, whose: str = "") -> None:
        self.log = log
        self.tools = dict(TOOLS) if tools is None else tools
        self.whose = whose

    def client(self) -> Client:
        return Client(self.server())

    def server(self) -> Server[Any]:
        return Server("office", on_list_tools=self._list, on_call_tool=self._call)

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    async def _list(self, _context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=description,
                    input_schema=_TEXT,
                    annotations=types.ToolAnnotations(read_only_hint=name.startswith("read")),
                )
                for name, description in self.tools.items()
            ]
        )

    async def _call(self, _context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        with self.log.open("a") as log:
            log.write(f"{params.name}\n")
        text = str((params.arguments or {}).get("text", ""))
        match params.name:
            case "die":
                os._exit(1)
            case "read_and_die_once" if self.calls().count("read_and_die_once") == 1:
                os._exit(1)
            case "sleep":
                await asyncio.sleep(60)
            case "whoami":
                text = self.whose
            case "fail":
                return types.CallToolResult(
                    content=[types.TextContent(type="text", text="no ink")], is_error=True
                )
            case "picture":
                blocks = json.loads(text or '[{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}]')
                return types.CallToolResult.model_validate({"content": blocks})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def _serve(office: Office) -> None:
    server = office.server()
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(_serve(Office(Path(sys.argv[1]), whose=os.environ.get("OFFICE_KEY", ""))))
