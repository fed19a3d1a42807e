"""What waits for a person's decision, and deciding it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import AfterValidator, BaseModel, Field

from maverick.chat.confirmations import pending_confirmations
from maverick.chat.tables import storable
from maverick.server.answer import ApprovalBody
from maverick.server.dependencies import (
    ANSWER,
    REFUSALS,
    ApprovalPathId,
    ChatService,
    IdempotencyKey,
    RequestBody,
    Respond,
    Service,
    User,
)
from maverick.server.events import Answer
from maverick.server.tokens import Principal
from maverick.tools.threads import run_in_thread

router = APIRouter(prefix="/api/approvals", tags=["approvals"], responses=REFUSALS)


class ApprovalList(BaseModel):
    """What waits for the user's decision."""

    approvals: list[ApprovalBody]


class Agreement(RequestBody):
    """With what the user agrees."""

    arguments: dict[str, Any] | None = None
    """All the arguments to call the tool with, in place of the agent's, which is told so."""


class Denial(RequestBody):
    """Why the user disagrees."""

    reason: Annotated[str, Field(max_length=2000), AfterValidator(storable)] = ""
    """What the agent is told; the task chat needs no reason."""


@router.get("")
async def list_approvals(user: User, service: Service) -> ApprovalList:
    """What waits for the user's decision: in their own conversations, and of others if they may decide that."""
    asked = await run_in_thread(_confirmations, service, user)
    return ApprovalList(approvals=[*asked, *await service.answers.approvals.pending(user.user_id)])


@router.post("/{approval_id:path}/approve", response_model=None, responses=ANSWER)
async def approve(
    approval_id: ApprovalPathId,
    user: User,
    service: Service,
    respond: Respond,
    agreement: Agreement | None = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Agree. The action goes ahead, and so does the answer: the response is like that of ``POST /api/chat``.

    For another user's answer, the response only says that it is decided.
    """
    arguments = None if agreement is None else agreement.arguments
    answer = await service.answers.decide(
        user.user_id, approval_id, idempotency_key, approved=True, arguments=arguments
    )
    return await _decided(answer, respond)


@router.post("/{approval_id:path}/deny", response_model=None, responses=ANSWER)
async def deny(
    approval_id: ApprovalPathId,
    user: User,
    service: Service,
    respond: Respond,
    denial: Denial | None = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Disagree. Nothing is done, and the answer continues: the response is like that of :func:`approve`."""
    reason = "" if denial is None else denial.reason
    answer = await service.answers.decide(
        user.user_id, approval_id, idempotency_key, approved=False, reason=reason
    )
    return await _decided(answer, respond)


async def _decided(answer: Answer | None, respond: Respond) -> Response:
    if answer is None:
        return Response(b'{"status": "decided"}', media_type="application/json")
    return await respond(answer)


def _confirmations(service: ChatService, user: Principal) -> list[ApprovalBody]:
    with service.session(user) as session:
        return [ApprovalBody.of_task_chat(asked) for asked in pending_confirmations(session, user.user_id)]
