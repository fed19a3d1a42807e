"""Asking a person in the same process: what ``AgentExecutor(approve=…)`` is given, and what it may answer."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from maverick.exceptions import ApprovalRequiredError, InvalidInputError, ToolError
from maverick.journal.approvals import edited_json
from maverick.loop.steps import approval_id
from maverick.loop.tool_round import PlannedCall
from maverick.model import Tool
from maverick.runtime.event_log import is_async, log_failure
from maverick.runtime.run import Run
from maverick.telemetry import log
from maverick.tools.argument_check import check_arguments
from maverick.tools.threads import run_in_thread


class ApprovalAnswer(Struct, frozen=True):
    """What a person says to a request; :meth:`ApprovalRequest.approve` and :meth:`~ApprovalRequest.deny` make one."""

    approved: bool
    """Whether the call may run."""
    reason: str = ""
    """Why; the model sees the reason of a refusal."""
    arguments: dict[str, Any] | None = None
    """The arguments to make the call with, in place of the model's."""
    by: str = ""
    """Who decides."""


class ApprovalRequest(Struct, frozen=True, kw_only=True):
    """A tool call that waits for a person's decision."""

    tool_name: str
    """The tool."""
    arguments: dict[str, Any]
    """What the model wants to call it with."""
    reason: str = ""
    """Why a person is asked; empty when the tool always needs approval."""
    run_id: str
    """The run; that of a subagent has an id of its own."""
    user_id: str | None = None
    """The verified user that the run acts for."""
    agent: tuple[str, ...] = ()
    """The path of agent names, outermost first."""
    approval_id: str = ""
    """The id of the request: the same in the journal and in the ``ApprovalRequested`` event."""
    call_id: str = ""
    """The model's id of the call."""
    workspace: Path | None = None
    """The folder whose files the tool changes, if it is one of the coding tools."""
    form: dict[str, Any] | None = None
    """The JSON schema of the answer, if an MCP server asks the person to fill in a form; the arguments are the answer."""

    def approve(
        self, *, arguments: Mapping[str, Any] | None = None, by: str = "", reason: str = ""
    ) -> ApprovalAnswer:
        """Agree to the call; with ``arguments``, it is made with these, and the model is told so.

        Raises:
            InvalidInputError: The arguments are not a JSON object, or too large.
        """
        return ApprovalAnswer(approved=True, reason=reason, arguments=as_json(arguments), by=by)

    def deny(self, reason: str = "", *, by: str = "") -> ApprovalAnswer:
        """Refuse the call; the model sees the reason."""
        return ApprovalAnswer(approved=False, reason=reason, by=by)


Approver: TypeAlias = Callable[[ApprovalRequest], bool | ApprovalAnswer | Awaitable[bool | ApprovalAnswer]]
"""Asks a person whether a tool call may be made; one that is not async is called in a thread.

One that raises an ApprovalRequiredError has no one to ask now: the run waits in its journal, as it does without an approver.
"""


NOT_ASKED = ApprovalAnswer(
    approved=False, by="the executor", reason="No one could be asked: approve= has failed. The log says why."
)


async def ask_about(planned: PlannedCall, run: Run[Any], approve: Approver) -> ApprovalAnswer:
    """What a person says to a call of a run."""
    call, start = planned.call, run.start
    request = ApprovalRequest(
        tool_name=call.tool_name,
        arguments=deepcopy(call.arguments),
        reason=planned.question or "",
        run_id=start.run_id,
        user_id=start.user_id,
        agent=start.agent,
        approval_id=approval_id(start.run_id, run.loop.turn, planned.index),
        call_id=call.id,
        workspace=getattr(run.toolset.tools[call.tool_name], "workspace", None),
    )
    try:
        return await ask(approve, request)
    except ApprovalRequiredError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever went wrong, no one has agreed
        log_failure(logging.WARNING, "approval_failed", error, run.ids | {"tool": call.tool_name})
        return NOT_ASKED


async def ask(approve: Approver, request: ApprovalRequest) -> ApprovalAnswer:
    """What a person says to a request; whatever is not a clear yes is a no."""
    function: Callable[..., Any] = approve
    answer = function(request) if is_async(function) else await run_in_thread(function, request)
    answer = await answer if inspect.isawaitable(answer) else answer
    if isinstance(answer, ApprovalAnswer):
        return replace(answer, arguments=as_json(answer.arguments) if answer.approved else None)
    if not isinstance(answer, bool):
        log(
            logging.WARNING,
            "approval_unclear",
            {"run_id": request.run_id, "tool": request.tool_name},
            text=f"approve= returned a {type(answer).__name__} for the tool {request.tool_name!r}, so that the call is denied. "
            "Return True, False, request.approve(…) or request.deny(…).",
        )
    return ApprovalAnswer(approved=answer is True)


def as_json(arguments: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Edited arguments as they are recorded, or an InvalidInputError if they are not a JSON object, or too large."""
    edited: dict[str, Any] | None = None if arguments is None else json.loads(edited_json(arguments))
    return edited


def check_edited(tool: Tool | None, arguments: dict[str, Any]) -> None:
    """Refuse arguments that a person has written and that do not fit the tool, as far as it is known."""
    if tool is not None:
        try:
            check_arguments(tool, arguments)
        except ToolError as error:
            raise InvalidInputError(f"arguments: {error}", field="arguments", cause=error) from error
