"""What waits for a person's decision, and deciding it."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from maverick.chat.confirmations import pending_confirmations
from maverick.chat.database import owned_session
from maverick.chat.tables import storable
from maverick.server.answer_body import ApprovalBody
from maverick.server.answer_job import Question
from maverick.server.dependencies import (
    CONFLICT,
    NOT_FOUND,
    REFUSALS,
    ApprovalPathId,
    ChatService,
    IdempotencyKey,
    Service,
    User,
    stream_format,
)
from maverick.server.errors import RequestRefusedError
from maverick.server.event_stream import StreamFormat
from maverick.server.events import Answer
from maverick.server.routes.chat import ANSWER, answered
from maverick.tools.threads import run_in_thread

router = APIRouter(prefix="/api/approvals", tags=["approvals"], responses=REFUSALS)
_DECIDED = {**ANSWER, **NOT_FOUND, **CONFLICT}


class ApprovalList(BaseModel):
    """What waits for the user's decision."""

    approvals: list[ApprovalBody]


class Agreement(BaseModel):
    """With what the user agrees."""

    model_config = ConfigDict(extra="forbid")

    arguments: dict[str, Any] | None = None
    """All the arguments to call the tool with, in place of the agent's, which is told so."""


class Denial(BaseModel):
    """Why the user disagrees."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[str, Field(max_length=2000), AfterValidator(storable)] = ""
    """What the agent is told; the task chat needs no reason."""


@router.get("")
async def list_approvals(user: User, service: Service) -> ApprovalList:
    """What waits for the user's decision: in their own conversations, and of others if they may decide that."""
    asked = await run_in_thread(_confirmations, service, user.user_id)
    return ApprovalList(approvals=[*asked, *await service.answers.approvals.pending(user.user_id)])


@router.post("/{approval_id:path}/approve", response_model=None, responses=_DECIDED)
async def approve(
    approval_id: ApprovalPathId,
    request: Request,
    user: User,
    service: Service,
    agreement: Agreement | None = None,
    format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Agree. The action goes ahead, and so does the answer: the response is like that of ``POST /api/chat``.

    For another user's answer, the response only says that it is decided.
    """
    arguments = None if agreement is None else agreement.arguments
    answer = await decided(
        service, user.user_id, approval_id, idempotency_key, approved=True, arguments=arguments
    )
    if answer is None:
        return _for_other()
    return await answered(service, user, answer, stream_format(request, format))


@router.post("/{approval_id:path}/deny", response_model=None, responses=_DECIDED)
async def deny(
    approval_id: ApprovalPathId,
    request: Request,
    user: User,
    service: Service,
    denial: Denial | None = None,
    format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Disagree. Nothing is done, and the answer goes on: the response is like that of :func:`approve`."""
    reason = "" if denial is None else denial.reason
    answer = await decided(service, user.user_id, approval_id, idempotency_key, approved=False, reason=reason)
    if answer is None:
        return _for_other()
    return await answered(service, user, answer, stream_format(request, format))


async def decided(
    service: ChatService,
    user_id: str,
    approval_id: str,
    request_key: str | None = None,
    *,
    approved: bool,
    reason: str = "",
    arguments: dict[str, Any] | None = None,
) -> Answer | None:
    """The answer that goes on after a decision; ``None`` if it is another user's.

    Raises:
        RequestRefusedError: The user may not decide it, or it is decided already.
    """
    if ":" not in approval_id:  # else it is a request in the journal
        question = Question.deciding(approval_id, approved=approved)
        return await service.answers.start(user_id, question, request_key)
    owner, run_id = await service.answers.approvals.decide(
        user_id, approval_id, approved=approved, reason=reason, arguments=arguments
    )
    if owner == user_id:
        return await service.answers.go_on(owner, run_id)
    with contextlib.suppress(RequestRefusedError):  # a limit of its owner: it goes on when they ask for it
        await service.answers.go_on(owner, run_id)
    return None


def _for_other() -> Response:
    return Response(b'{"status": "decided"}', media_type="application/json")


def _confirmations(service: ChatService, user_id: str) -> list[ApprovalBody]:
    with owned_session(service.session_factory, user_id) as session:
        return [ApprovalBody.model_validate(asked) for asked in pending_confirmations(session, user_id)]
