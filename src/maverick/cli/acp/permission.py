"""Asks the user of an editor: about tool calls, and what MCP servers want to know in the middle of one."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from acp import schema
from acp.helpers import start_tool_call, update_tool_call
from acp.interfaces import Client
from msgspec import structs
from pydantic import ValidationError

from maverick.cli.acp.tool_calls import ALLOW, permission_options, requested_call
from maverick.cli.acp.updates import Update, readable
from maverick.exceptions import ToolError
from maverick.runtime.answer_form import form_fields
from maverick.runtime.approver import ApprovalAnswer, ApprovalRequest
from maverick.runtime.consent import CallPreview, Grants, GrantScope, consent


class EditorApprover:
    """Asks in one session, one question after the other, unless the user has allowed it before.

    ``tell`` sends something to the editor, and ``told`` waits until everything was sent; ``cancel`` stops the run, for
    a question that the user has dismissed.
    """

    def __init__(
        self,
        client: Client,
        session_id: str,
        folder: Path,
        *,
        shows_forms: bool,
        tell: Callable[[Update], None],
        told: Callable[[], Awaitable[None]],
        cancel: Callable[[], None],
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._folder = folder
        self._shows_forms = shows_forms
        self._tell = tell
        self._told = told
        self._cancel = cancel
        self._grants = Grants(folder)
        self._asking = asyncio.Lock()

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask about a call, or put a question of an MCP server; a ``ToolError`` if no one can fill that in here."""
        async with self._asking:  # calls of several subagents are asked about one after the other
            ask = self._ask if request.call_id else self._ask_for_server
            return await consent(request, self._grants, partial(ask, request), self._folder)

    async def _ask(
        self, request: ApprovalRequest, preview: CallPreview
    ) -> tuple[ApprovalAnswer, GrantScope | None]:
        await self._told()  # so that what led to the call is shown before it
        scopes = self._grants.scopes(preview)
        shown = requested_call(request, preview, self._folder)
        answer = await self._client.request_permission(
            self._session_id, readable(shown), permission_options(preview, scopes)
        )
        match answer.outcome:
            case schema.AllowedOutcome(option_id=option) if option == ALLOW:
                return request.approve(), None
            case schema.AllowedOutcome(option_id=option) if option in scopes:
                return request.approve(), GrantScope(option)
            case schema.AllowedOutcome():
                return request.deny("The user rejected it in the editor."), None
        self._cancel()
        return request.deny("The user cancelled."), None

    async def _ask_for_server(
        self, request: ApprovalRequest, preview: CallPreview
    ) -> tuple[ApprovalAnswer, GrantScope | None]:
        """Put a question of an MCP server: as a form, or else as a call of its own that the user allows or rejects."""
        if request.form is not None and self._shows_forms:
            return await self._fill_in(request, preview), None
        if missing := _unanswerable(request):
            raise ToolError(
                f"The user was not asked: this editor shows no forms, and the question needs {', '.join(missing)}."
            )
        request = structs.replace(request, run_id="question", call_id=uuid.uuid4().hex)
        shown = requested_call(request, preview, self._folder)
        self._tell(start_tool_call(shown.tool_call_id, preview.title, kind="other", status="pending"))
        answer, scope = await self._ask(request, preview)
        self._tell(update_tool_call(shown.tool_call_id, status="completed" if answer.approved else "failed"))
        return answer, scope

    async def _fill_in(self, request: ApprovalRequest, preview: CallPreview) -> ApprovalAnswer:
        await self._told()
        try:
            mode = schema.ElicitationFormSessionMode.model_validate(
                {"sessionId": self._session_id, "requestedSchema": request.form}
            )
        except ValidationError as error:
            raise ToolError("The user was not asked: an editor cannot show this form.") from error
        given = await self._client.create_elicitation(preview.title, readable(mode))
        if isinstance(given, schema.AcceptElicitationResponse):
            return request.approve(arguments=given.content or {})
        return request.deny("The user declined.")


def _unanswerable(request: ApprovalRequest) -> list[str]:
    """The fields of a form that have to be filled in, and for which nothing is suggested."""
    if request.form is None:
        return []
    fields = form_fields(request.form, request.arguments)
    return [field.title for field in fields if field.is_required and field.suggested is None]
