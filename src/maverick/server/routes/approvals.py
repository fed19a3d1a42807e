"""What the user is asked before it is done."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel

from maverick.chat.database import owned_session
from maverick.server.answer_body import AnswerBody, ApprovalBody
from maverick.server.answer_store import Question
from maverick.server.approvals import pending_approvals
from maverick.server.event_stream import StreamFormat
from maverick.server.request_parts import CONFLICT, NOT_FOUND, REFUSALS, IdempotencyKey, PathId, stream_format
from maverick.server.routes.chat import ANSWER, answered
from maverick.server.service import Service
from maverick.server.sign_in import User

router = APIRouter(prefix="/api/approvals", tags=["approvals"], responses=REFUSALS)
_DECISION = {**ANSWER, **NOT_FOUND, **CONFLICT}


class ApprovalList(BaseModel):
    """The questions that wait for the user."""

    approvals: list[ApprovalBody]


@router.get("")
def list_approvals(user: User, service: Service) -> ApprovalList:
    """The questions that wait for the user."""
    with owned_session(service.session_factory, user.user_id) as session:
        asked = pending_approvals(session, user.user_id)
    return ApprovalList(approvals=[ApprovalBody.of(question) for question in asked])


@router.post("/{approval_id}/approve", response_model=None, responses=_DECISION)
async def approve(
    approval_id: PathId,
    request: Request,
    user: User,
    service: Service,
    format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
    idempotency_key: IdempotencyKey = None,
) -> AnswerBody | Response:
    """Agree. The action goes ahead, and the conversation with it: the answer is as that of ``POST /api/chat``."""
    question = Question.deciding(approval_id, approved=True)
    answer = await service.answers.start(user.user_id, question, idempotency_key)
    return await answered(service, user, answer, stream_format(request, format))


@router.post("/{approval_id}/deny", response_model=None, responses=_DECISION)
async def deny(
    approval_id: PathId,
    request: Request,
    user: User,
    service: Service,
    format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
    idempotency_key: IdempotencyKey = None,
) -> AnswerBody | Response:
    """Disagree. Nothing is done, and the conversation goes on: the answer is as that of ``POST /api/chat``."""
    question = Question.deciding(approval_id, approved=False)
    answer = await service.answers.start(user.user_id, question, idempotency_key)
    return await answered(service, user, answer, stream_format(request, format))
