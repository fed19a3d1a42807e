"""What the user is asked before it is done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel

from maverick.chat.database import owned_session
from maverick.server.answer_body import ApprovalBody
from maverick.server.answer_store import Question
from maverick.server.approvals import pending_approvals
from maverick.server.event_stream import StreamFormat
from maverick.server.request_parts import CONFLICT, NOT_FOUND, REFUSALS, IdempotencyKey, PathId, stream_format
from maverick.server.routes.chat import ANSWER, answered
from maverick.server.service import Service
from maverick.server.sign_in import User

router = APIRouter(prefix="/api/approvals", tags=["approvals"], responses=REFUSALS)
_DECIDED = {**ANSWER, **NOT_FOUND, **CONFLICT}


class Decision:
    """A decision on a question, made of the parts of its request."""

    def __init__(
        self,
        approval_id: PathId,
        request: Request,
        user: User,
        service: Service,
        format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
        idempotency_key: IdempotencyKey = None,
    ) -> None:
        self._approval_id = approval_id
        self._user = user
        self._service = service
        self._format = stream_format(request, format)
        self._key = idempotency_key

    async def take(self, *, approved: bool) -> Response:
        """Decide, and give the answer that the conversation goes on with."""
        question = Question.deciding(self._approval_id, approved=approved)
        answer = await self._service.answers.start(self._user.user_id, question, self._key)
        return await answered(self._service, self._user, answer, self._format)


Deciding = Annotated[Decision, Depends()]
"""A decision, for a route."""


class ApprovalList(BaseModel):
    """The questions that wait for the user."""

    approvals: list[ApprovalBody]


@router.get("")
def list_approvals(user: User, service: Service) -> ApprovalList:
    """The questions that wait for the user."""
    with owned_session(service.session_factory, user.user_id) as session:
        asked = pending_approvals(session, user.user_id)
    return ApprovalList(approvals=[ApprovalBody.of(question) for question in asked])


@router.post("/{approval_id}/approve", response_model=None, responses=_DECIDED)
async def approve(decision: Deciding) -> Response:
    """Agree. The action goes ahead, and the conversation with it: the answer is as that of ``POST /api/chat``."""
    return await decision.take(approved=True)


@router.post("/{approval_id}/deny", response_model=None, responses=_DECIDED)
async def deny(decision: Deciding) -> Response:
    """Disagree. Nothing is done, and the conversation goes on: the answer is as that of ``POST /api/chat``."""
    return await decision.take(approved=False)
