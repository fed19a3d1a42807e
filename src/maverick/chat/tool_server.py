"""The task server: the task tools over MCP, in this process or over stdio and HTTP.

The transport decides which user a call acts for, never its arguments: in this process it is the runner, over stdio the
user who started the server, over HTTP the bearer token.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, TypeAlias

import mcp_types as types
import msgspec
from mcp import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from sqlalchemy.exc import IntegrityError

import maverick
from maverick.chat import phrases
from maverick.chat.confirmations import ConfirmationStore
from maverick.chat.database import SessionFactory, owned_session
from maverick.chat.task_tools import TASK_TOOLS, Caller, TaskRefusedError, TaskSession, TaskTool
from maverick.exceptions import InvalidInputError, StorageError
from maverick.runtime.event_log import log_failure
from maverick.tools.mcp.toolset import SEQUENTIAL
from maverick.tools.threads import run_in_thread

RequestContext: TypeAlias = ServerRequestContext[Any, Any]
FindCaller: TypeAlias = Callable[[RequestContext], Caller]
"""Returns the user a request acts for, from what the transport knows; raises ``PermissionError`` if it does not."""

_CALLER = "maverick/caller"
_TOOLS = {tool.name: tool for tool in TASK_TOOLS}
_MISSING = {
    "title": "what the task is",
    "task": "which task you mean",
    "description": "the description",
    "priority": "the priority: low, medium or high",
    "due_date": "the due date",
    "due": "when the tasks are due",
    "status": "which tasks you mean",
    "operation": "what to do with your tasks",
    "": "what to change",
}
"""What each argument is called in a question to the user."""
_CONVERSATIONAL = frozenset(
    ("not_found", "ambiguous", "confirmation_required", "declined", "nothing_to_undo")
)
"""Results that are not failures of the tool: the conversation continues from them."""


class MCPToolServer:
    """Task operations as MCP tools, each for one verified user.

    Args:
        session_factory: Makes fresh database sessions.
        today: Returns today's date.
    """

    def __init__(self, session_factory: SessionFactory, *, today: Callable[[], date] = date.today) -> None:
        self._session_factory = session_factory
        self._today = today

    async def call(self, tool_name: str, arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Run a tool for a user.

        Returns:
            ``{"success": true, "data": …}`` or ``{"success": false, "error": {"code", "message", "details"}}``.
        """
        tool = _TOOLS.get(tool_name)
        if tool is None:
            return _failure("unknown_tool", phrases.TROUBLE, tool=tool_name)
        return await run_in_thread(self._perform, tool, dict(arguments), caller)

    def client(self) -> Client:
        """A client in the same process, not connected yet, for a runner that names the user of each call."""
        return Client(self.server(_from_meta))

    @staticmethod
    def caller_meta(user_id: str, key: str, conversation_id: str) -> dict[str, Any]:
        """What a runner sends besides the arguments; only the server in its own process reads it."""
        return {_CALLER: {"user_id": user_id, "key": key, "conversation_id": conversation_id}}

    def server(self, find_caller: FindCaller) -> Server[Any]:
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
                return _as_result(_failure("forbidden", "Please sign in first."))
            if not await self._hear(caller, params.input_responses or {}):
                return _as_result(_failure("declined", phrases.DECLINED))
            answer = await self.call(params.name, params.arguments or {}, caller)
            return _question(context, answer) or _as_result(answer)

        return Server(
            "maverick-tasks",
            version=maverick.__version__,
            title="Maverick tasks",
            instructions="The tasks of one person: add, list, complete, change and delete them, and undo.",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )

    async def _hear(self, caller: Caller, responses: Mapping[str, object]) -> bool:
        """Take in the user's answers to questions their program has shown; returns whether to go ahead."""
        agreed = True
        for asked, said in responses.items():
            approved = isinstance(said, types.ElicitResult) and said.action == "accept"
            await run_in_thread(self._decide, caller, asked, approved=approved)
            agreed = agreed and approved
        return agreed

    def _decide(self, caller: Caller, confirmation_id: str, *, approved: bool) -> None:
        with owned_session(self._session_factory, caller.user_id, writes=True) as session:
            store = ConfirmationStore(session, caller.user_id, caller.conversation_id)
            store.decide(confirmation_id, approved=approved)

    def _perform(
        self, tool: TaskTool[Any], arguments: dict[str, Any], caller: Caller, *, again: bool = False
    ) -> dict[str, Any]:
        try:
            return self._act(tool, tool.arguments.model_validate(arguments), caller)
        except ValidationError as error:
            return _invalid(error)
        except StorageError as error:
            if isinstance(error.cause, IntegrityError) and not again:
                # The same call was made at the same time, and its result is saved by now.
                return self._perform(tool, arguments, caller, again=True)
            log_failure(logging.ERROR, "task_tool_failed", error, {"tool": tool.name})
            return _failure("unavailable", phrases.TROUBLE)

    def _act(self, tool: TaskTool[Any], given: Any, caller: Caller) -> dict[str, Any]:  # noqa: ANN401 - the tool's
        with owned_session(self._session_factory, caller.user_id, writes=tool.changes) as session:
            tasks = TaskSession(session, caller, self._today())
            try:
                if not tool.changes:
                    return {"success": True, "data": tool.act(tasks, given)}
                return tasks.once(tool.name, given.recorded(), lambda: tool.act(tasks, given))
            except TaskRefusedError as refused:
                return _failure(refused.code, str(refused), **refused.details)
            except InvalidInputError:
                return _failure("conflict", phrases.TROUBLE)


def _from_meta(context: RequestContext) -> Caller:
    said = (context.meta or {}).get(_CALLER)
    if not isinstance(said, dict) or not said.get("user_id"):
        raise PermissionError
    return Caller(**said)


def _failure(code: str, message: str, **details: Any) -> dict[str, Any]:
    return {"success": False, "error": {"code": code, "message": message, "details": details}}


def _invalid(error: ValidationError) -> dict[str, Any]:
    fields = [
        str(problem["loc"][0]) if problem["loc"] else "" for problem in error.errors(include_input=False)
    ]
    what = next((_MISSING[field] for field in fields if field in _MISSING), "what you would like")
    return _failure("invalid_input", phrases.missing(what), fields=sorted(set(fields)))


def _question(context: RequestContext, answer: dict[str, Any]) -> types.InputRequiredResult | None:
    """A question for the client's program to show, if it can.

    In this process the question is part of the conversation, and the user's next message answers it.
    """
    if (
        answer["success"]
        or answer["error"]["code"] != "confirmation_required"
        or _CALLER in (context.meta or {})
    ):
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


def _as_result(answer: dict[str, Any]) -> types.CallToolResult:
    """A result in MCP's form. Its text, which models read, contains no ids."""
    text = msgspec.json.encode(_without_ids(answer)).decode()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=answer,
        is_error=not answer["success"] and answer["error"]["code"] not in _CONVERSATIONAL,
    )


def _without_ids(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {key: _without_ids(entry) for key, entry in value.items() if key not in ("id", "confirmation")}
    if isinstance(value, list):
        return [_without_ids(entry) for entry in value]
    return value


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
