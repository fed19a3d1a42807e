"""An MCP server with prompts and resources, and a tool that asks the user, over HTTP on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import mcp_types as types
import uvicorn
from mcp.server import MCPServer
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError


class Task(types.Result):
    """A task as it is told, with what its state brings along."""

    result_type: str = "complete"
    task_id: str
    status: str = "working"
    created_at: str = "2026-01-01T00:00:00Z"
    last_updated_at: str = "2026-01-01T00:00:00Z"
    ttl_ms: int | None = None
    poll_interval_ms: int = 1
    input_requests: dict[str, types.ElicitRequest] | None = None
    result: types.CallToolResult | None = None
    error: types.ErrorData | None = None


class TaskParams(types.RequestParams):
    task_id: str
    input_responses: dict[str, types.ElicitResult] | None = None


class Tasks(Extension):
    """Answers calls of ``dredge`` with tasks: each asks for a harbour and then does what that is told to do."""

    identifier = "io.modelcontextprotocol/tasks"
    told: ClassVar[dict[str, types.ElicitResult | None]] = {}
    cancelled: ClassVar[set[str]] = set()
    headers: ClassVar[list[str | None]] = []

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name != "dredge":
            return await call_next(ctx)
        task_id = f"task-{len(self.told)}"
        self.told[task_id] = None
        return Task(result_type="task", task_id=task_id)

    def methods(self) -> list[MethodBinding]:
        handlers = {"tasks/get": self.get, "tasks/update": self.update, "tasks/cancel": self.cancel}
        return [MethodBinding(method, TaskParams, handler) for method, handler in handlers.items()]

    async def get(self, ctx: Any, params: TaskParams) -> Task:
        self.headers.append(ctx.request.headers.get("mcp-name"))
        if (told := self.told[params.task_id]) is None:
            asked = {"where": types.ElicitRequest(params=WHERE)}
            return Task(task_id=params.task_id, status="input_required", input_requests=asked)
        harbour = (told.content or {}).get("harbour")
        if harbour == "lost":
            raise MCPError(types.INTERNAL_ERROR, "The harbour cannot be reached now.")
        if harbour == "never":
            return Task(task_id=params.task_id)
        if harbour == "broken":
            error = types.ErrorData(code=-32603, message="The dredger sank.")
            return Task(task_id=params.task_id, status="failed", error=error)
        done = types.CallToolResult(content=[types.TextContent(text=f"{told.action}: {harbour} is deep.")])
        return Task(task_id=params.task_id, status="completed", result=done)

    async def update(self, ctx: Any, params: TaskParams) -> types.EmptyResult:
        (self.told[params.task_id],) = (params.input_responses or {}).values()
        return types.EmptyResult()

    async def cancel(self, ctx: Any, params: TaskParams) -> types.EmptyResult:
        self.cancelled.add(params.task_id)
        return types.EmptyResult()


server = MCPServer("wiki", extensions=[Tasks()])


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


@server.tool(description="Writes a poem.")
async def poem(context: Context) -> str | types.InputRequiredResult:
    answers = context.input_responses
    if answers is None:
        said: list[tuple[types.Role, str]] = [
            ("user", "Hello ${you}."),
            ("assistant", "Yes?"),
            ("user", "A line on tides."),
        ]
        params = types.CreateMessageRequestParams(
            messages=[
                types.SamplingMessage(role=role, content=types.TextContent(text=text)) for role, text in said
            ],
            max_tokens=50,
            system_prompt="You rhyme.",
        )
        return types.InputRequiredResult(input_requests={"line": types.CreateMessageRequest(params=params)})
    answer = answers["line"]
    assert isinstance(answer, types.CreateMessageResult)
    assert isinstance(answer.content, types.TextContent)
    return f"{answer.stop_reason}: {answer.content.text}"


@server.tool(description="Dredges a harbour, which takes long.", structured_output=False)
def dredge() -> str:
    raise AssertionError("it is answered with a task")


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
