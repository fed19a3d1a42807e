"""The task server: the task tools, each call of which acts for one user.

Whoever passes a call on decides which user it acts for, never its arguments: in this process it is the run, and over MCP
(:mod:`maverick.chat.task_protocol`) the transport. MCP itself is not loaded here, since it takes longer than an answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import msgspec
from pydantic import ValidationError
from sqlalchemy.exc import IntegrityError

from maverick.chat import phrases
from maverick.chat.confirmations import ConfirmationStore
from maverick.chat.database import SessionFactory, owned_session
from maverick.chat.task_session import Caller, TaskRefusedError, TaskSession, TaskTool
from maverick.chat.task_tools import TASK_TOOLS
from maverick.exceptions import InvalidInputError, StorageError, ToolError
from maverick.model import Effect, StructuredResult, ToolContext
from maverick.runtime.event_log import log_failure
from maverick.tools.threads import run_in_thread

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
            return failure("unknown_tool", phrases.TROUBLE, tool=tool_name)
        return await run_in_thread(self._perform, tool, dict(arguments), caller)

    def tools(self, conversation: Callable[[], str]) -> list[ChatTool]:
        """The tools for an agent in this process.

        Args:
            conversation: Returns the id of the conversation that a call is made in.
        """
        return [ChatTool(tool, self, conversation) for tool in TASK_TOOLS]

    async def decide(self, caller: Caller, confirmation_id: str, *, approved: bool) -> None:
        """Take in a user's answer to a question that their program has shown."""
        await run_in_thread(self._decide, caller, confirmation_id, approved=approved)

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
            return failure("unavailable", phrases.TROUBLE)

    def _act(self, tool: TaskTool[Any], given: Any, caller: Caller) -> dict[str, Any]:  # noqa: ANN401 - the tool's
        with owned_session(self._session_factory, caller.user_id, writes=tool.changes) as session:
            tasks = TaskSession(session, caller, self._today())
            try:
                if not tool.changes:
                    return {"success": True, "data": tool.act(tasks, given)}
                return tasks.once(tool.name, given.recorded(), lambda: tool.act(tasks, given))
            except TaskRefusedError as refused:
                return failure(refused.code, str(refused), **refused.details)
            except InvalidInputError:
                return failure("conflict", phrases.TROUBLE)


class ChatTool:
    """A task tool of an agent, which acts for the user of its run."""

    def __init__(self, tool: TaskTool[Any], server: MCPToolServer, conversation: Callable[[], str]) -> None:
        self.name = tool.name
        self.description = tool.description
        self.parameters = tool.parameters
        # Those that change something remember the key of a call, so that it can be made again.
        self.effect = Effect.KEYED if tool.changes else Effect.PURE
        self.sequential = True
        self._server = server
        self._conversation = conversation

    async def execute(self, args: dict[str, Any], context: ToolContext | None = None, /) -> StructuredResult:
        """Do it for the user of the run, who is known from the request, and not from the model.

        Raises:
            ToolError: There is no user.
        """
        if context is None or not context.user_id:
            raise ToolError(
                f"{self.name} acts for the user of a run, and can only be called in one.", tool_name=self.name
            )
        caller = Caller(context.user_id, context.idempotency_key, self._conversation())
        return as_result(await self._server.call(self.name, args, caller))


def failure(code: str, message: str, **details: Any) -> dict[str, Any]:
    """What a call returns that did nothing."""
    return {"success": False, "error": {"code": code, "message": message, "details": details}}


def _invalid(error: ValidationError) -> dict[str, Any]:
    fields = [
        str(problem["loc"][0]) if problem["loc"] else "" for problem in error.errors(include_input=False)
    ]
    what = next((_MISSING[field] for field in fields if field in _MISSING), "what you would like")
    return failure("invalid_input", phrases.missing(what), fields=sorted(set(fields)))


def as_result(answer: dict[str, Any]) -> StructuredResult:
    """What a call returned. Its text, which models read, contains no ids."""
    text = msgspec.json.encode(_without_ids(answer)).decode()
    failed = not answer["success"] and answer["error"]["code"] not in _CONVERSATIONAL
    return StructuredResult(text, answer, failed)


def _without_ids(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {key: _without_ids(entry) for key, entry in value.items() if key not in ("id", "confirmation")}
    if isinstance(value, list):
        return [_without_ids(entry) for entry in value]
    return value
