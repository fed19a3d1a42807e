"""An MCP server with prompts and resources, and a tool that asks the user, over HTTP on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import mcp_types as types
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("wiki")


WHERE = types.ElicitRequestFormParams(
    message="Which harbour?",
    requested_schema={
        "type": "object",
        "properties": {"harbour": {"type": "string", "default": "Dover"}, "depth": {"type": "integer"}},
        "required": ["harbour", "depth"],
    },
)


@server.prompt(description="Sums a page up.")
def summary(page: str, language: str = "English") -> str:
    return f"Sum up the page {page} in {language}."


@server.resource("wiki://tides", description="About tides.")
def tides() -> str:
    return "The sea comes and goes."


@server.tool(description="Looks a harbour up.")
async def look_up(context: Context) -> str | types.InputRequiredResult:
    answers = context.input_responses
    if answers is None:
        return types.InputRequiredResult(input_requests={"where": types.ElicitRequest(params=WHERE)})
    answer = answers["where"]
    assert isinstance(answer, types.ElicitResult)
    return f"{answer.action}: {json.dumps(answer.content, sort_keys=True)}"


@contextmanager
def wiki_server() -> Iterator[str]:
    """The server's address, for as long as it runs."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()  # so that whoever comes before the server is up waits for it
    app = server.streamable_http_app(stateless_http=True, json_response=True)
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        thread.join()
        listening.close()
