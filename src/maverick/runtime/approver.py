"""Asking a person in the same process: what ``AgentExecutor(approve=…)`` is given, and what it may answer."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from maverick.exceptions import InvalidInputError, ToolError
from maverick.journal.approvals import edited_json
from maverick.model import Tool
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
"""Asks a person whether a tool call may be made; one that is not async is called in a thread."""


async def ask(approve: Approver, request: ApprovalRequest) -> ApprovalAnswer:
    """What a person says to a request; whatever is not a clear yes is a no."""
    function: Callable[..., Any] = approve
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose __call__ is async
    )
    answer = function(request) if is_async else await run_in_thread(function, request)
    if inspect.isawaitable(answer):
        answer = await answer
    if not isinstance(answer, bool | ApprovalAnswer):
        log(
            logging.WARNING,
            "approval_unclear",
            {"run_id": request.run_id, "tool": request.tool_name},
            text=f"approve= returned a {type(answer).__name__} for the tool {request.tool_name!r}, so that the call is denied. "
            "Return True, False, request.approve(…) or request.deny(…).",
        )
    if not isinstance(answer, ApprovalAnswer):
        return ApprovalAnswer(approved=answer is True)
    return replace(answer, arguments=as_json(answer.arguments) if answer.approved else None)


def as_json(arguments: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Edited arguments as they are recorded.

    Raises:
        InvalidInputError: They are not a JSON object, or too large.
    """
    edited: dict[str, Any] | None = None if arguments is None else json.loads(edited_json(arguments))
    return edited


def check_edited(tool: Tool | None, arguments: dict[str, Any]) -> None:
    """Make sure that a call can be made with the arguments a person has written, as far as the tool is known.

    Raises:
        InvalidInputError: They do not fit the tool.
    """
    if tool is not None:
        try:
            check_arguments(tool, arguments)
        except ToolError as error:
            raise InvalidInputError(f"arguments: {error}", field="arguments", cause=error) from error
