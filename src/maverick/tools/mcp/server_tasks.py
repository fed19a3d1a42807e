"""Tool calls that an MCP server answers later (the protocol's tasks extension): it is asked until they are done.

A server may answer a call with a task in place of a result. To whoever made the call it is a call that takes longer: it
ends with the task, and a call that is stopped or out of time cancels the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, TypeVar

import anyio
import mcp_types as types
from mcp.client.context import ClientRequestContext
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from mcp.shared.exceptions import MCPError
from typing_extensions import override

R = TypeVar("R", bound=types.Result)

_INTERVAL = 1.0
"""Seconds until a task is asked about again, if the server does not say."""
_SHORTEST, _LONGEST = 0.05, 30.0
_CANCEL_SECONDS = 1.0
"""How long a call that is over waits until the server has heard that its task is cancelled."""


class _Created(types.Result):
    result_type: Literal["task"]
    task_id: str
    poll_interval_ms: int | None = None


class _State(types.Result):
    status: types.TaskStatus
    status_message: str | None = None
    poll_interval_ms: int | None = None
    input_requests: types.InputRequests | None = None
    result: types.CallToolResult | None = None
    error: types.ErrorData | None = None


class _Params(types.RequestParams):
    task_id: str
    input_responses: types.InputResponses | None = None


class _Request(types.Request[_Params, Literal["tasks/get", "tasks/update", "tasks/cancel"]]):
    name_param = "taskId"


class _TaskEndedError(MCPError):
    """The server has ended a task without a result."""


class ServerTasks(ClientExtension):
    """Lets a server answer calls with tasks."""

    identifier = "io.modelcontextprotocol/tasks"

    @override
    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=_Created, resolve=_resolve),)


async def _resolve(created: _Created, context: ClaimContext) -> types.CallToolResult:
    """The result of a call that was answered with a task."""
    try:
        with anyio.fail_after(context.read_timeout_seconds):
            return await _result(created, context.session)
    except BaseException as error:
        if not isinstance(error, _TaskEndedError):
            with anyio.move_on_after(_CANCEL_SECONDS, shield=True), suppress(Exception):
                await _send(context.session, "tasks/cancel", created.task_id, types.EmptyResult)
        if isinstance(error, TimeoutError):
            raise MCPError(types.REQUEST_TIMEOUT, "The task was not done in time.") from error
        raise


async def _result(created: _Created, session: ClientSession) -> types.CallToolResult:
    answered: set[str] = set()
    interval = created.poll_interval_ms
    while True:
        await anyio.sleep(_INTERVAL if interval is None else min(max(interval / 1000, _SHORTEST), _LONGEST))
        state = await _send(session, "tasks/get", created.task_id, _State)
        interval = state.poll_interval_ms
        match state:
            case _State(status="completed", result=types.CallToolResult() as result):
                return result
            case _State(status="completed" | "failed" | "cancelled"):
                why = state.error.message if state.error else state.status_message
                raise _TaskEndedError(
                    types.INTERNAL_ERROR, why or f"The task was {state.status} without a result."
                )
            case _State(status="input_required"):
                asked = {key: one for key, one in (state.input_requests or {}).items() if key not in answered}
                for key, request in asked.items():
                    answered.add(key)
                    await _answer(session, created.task_id, key, request)


async def _answer(session: ClientSession, task_id: str, key: str, request: types.InputRequest) -> None:
    """Answer what a task asks, as if its server had asked in the middle of a call."""
    context = ClientRequestContext(session=session, request_id=key)
    response = await session.dispatch_input_request(context, request)
    if isinstance(response, types.ErrorData):
        raise MCPError.from_error_data(response)
    await _send(session, "tasks/update", task_id, types.EmptyResult, {key: response})


async def _send(
    session: ClientSession,
    method: Literal["tasks/get", "tasks/update", "tasks/cancel"],
    task_id: str,
    result_type: type[R],
    responses: types.InputResponses | None = None,
) -> R:
    request = _Request(method=method, params=_Params(task_id=task_id, input_responses=responses))
    return await session.send_request(request, result_type)
