"""Asking, following the answer, and deciding what the user is asked to confirm."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from maverick.chat.confirmations import pending_confirmations
from maverick.chat.database import owned_session
from maverick.server.answer_body import AnswerBody, ApprovalBody
from maverick.server.answer_service import Answer
from maverick.server.answer_store import Question
from maverick.server.event_stream import EVENT_STREAM, StreamFormat, answer_stream
from maverick.server.principal import Principal
from maverick.server.request_parts import (
    CONFLICT,
    NOT_FOUND,
    REFUSALS,
    Id,
    IdempotencyKey,
    LastEventId,
    Number,
    PathId,
    Words,
    stream_format,
)
from maverick.server.service import ChatService, Service
from maverick.server.sign_in import User
from maverick.server.stream_encoders import StreamEncoder

router = APIRouter(prefix="/api", tags=["chat"], responses={**REFUSALS, **NOT_FOUND, **CONFLICT})
approvals = APIRouter(prefix="/api/approvals", tags=["approvals"], responses=REFUSALS)

_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"model": AnswerBody, "content": {EVENT_STREAM: {"schema": {"type": "string"}}}}
}
"""An answer: whole, or as a stream of events."""
_DECIDED = {**_ANSWER, **NOT_FOUND, **CONFLICT}


class ChatRequest(BaseModel):
    """What a user says."""

    model_config = ConfigDict(extra="forbid")

    message: Words
    conversation_id: Id | None = None
    """The conversation; without one, a new one begins."""
    replaces: Number | None = None
    """A message of the user in this conversation that is taken back, with all that was said since."""


@router.post("/chat", response_model=None, responses=_ANSWER)
async def chat(
    body: ChatRequest,
    request: Request,
    user: User,
    service: Service,
    format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
    idempotency_key: IdempotencyKey = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Say something. The answer is JSON; or a stream of events, if that is what the client accepts."""
    question = Question(body.message, body.conversation_id, body.replaces)
    answer = await service.answers.start(user.user_id, question, idempotency_key)
    return await _answered(service, user, answer, stream_format(request, format), last_event_id)


@router.get("/runs/{run_id}", responses=_ANSWER)
async def get_answer(run_id: PathId, user: User, service: Service) -> AnswerBody:
    """An answer, once it is over."""
    answer = await service.answers.find(user.user_id, run_id)
    return await answer.finished()


@router.get(
    "/runs/{run_id}/events",
    response_model=None,
    responses={
        200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
        204: {"description": "It is over."},
    },
)
async def follow_answer(
    run_id: PathId,
    user: User,
    service: Service,
    format: StreamFormat = StreamFormat.EVENTS,  # noqa: A002 - what it is called in the address
    last_event_id: LastEventId = None,
) -> Response:
    """An answer as it is made; from where the client has it, if it says so."""
    answer = await service.answers.find(user.user_id, run_id)
    return followed(service, user, answer, format.encoder(), last_event_id)


@router.post("/runs/{run_id}/stop")
async def stop_answer(run_id: PathId, user: User, service: Service) -> AnswerBody:
    """Stop an answer; what there is of it is kept. One that is over stays as it is."""
    answer = await service.answers.stop(user.user_id, run_id)
    return await answer.finished()


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
        return await _answered(self._service, self._user, answer, self._format)


Deciding = Annotated[Decision, Depends()]
"""A decision, for a route."""


class ApprovalList(BaseModel):
    """The questions that wait for the user."""

    approvals: list[ApprovalBody]


@approvals.get("")
def list_approvals(user: User, service: Service) -> ApprovalList:
    """The questions that wait for the user."""
    with owned_session(service.session_factory, user.user_id) as session:
        asked = pending_confirmations(session, user.user_id)
    return ApprovalList(approvals=[ApprovalBody.of(question) for question in asked])


@approvals.post("/{approval_id}/approve", response_model=None, responses=_DECIDED)
async def approve(decision: Deciding) -> Response:
    """Agree. The action goes ahead, and the conversation with it: the answer is as that of ``POST /api/chat``."""
    return await decision.take(approved=True)


@approvals.post("/{approval_id}/deny", response_model=None, responses=_DECIDED)
async def deny(decision: Deciding) -> Response:
    """Disagree. Nothing is done, and the conversation goes on: the answer is as that of ``POST /api/chat``."""
    return await decision.take(approved=False)


async def _answered(
    service: ChatService,
    user: Principal,
    answer: Answer,
    wanted: StreamFormat | None,
    last_event_id: str | None = None,
) -> Response:
    """An answer in the form that is wanted: whole, if none is."""
    if wanted is None:
        return Response(msgspec.json.encode(await answer.body()), media_type="application/json")
    return followed(service, user, answer, wanted.encoder(), last_event_id)


def followed(
    service: ChatService,
    user: Principal,
    answer: Answer,
    encoder: StreamEncoder,
    last_event_id: str | None = None,
) -> Response:
    """An answer as a stream, within what a user may have open."""
    service.streams.take(user.user_id)
    return answer_stream(
        answer,
        encoder,
        after=int(last_event_id or 0),
        on_close=lambda: service.streams.give_back(user.user_id),
    )
