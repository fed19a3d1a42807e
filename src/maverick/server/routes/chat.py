"""Asking an agent, and following its answer."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import AfterValidator, Base64Bytes, BaseModel, ConfigDict, Field

from maverick.chat.tables import storable
from maverick.exceptions import InvalidInputError
from maverick.model import Document, Image
from maverick.model.media import media_from_bytes
from maverick.server.agents import AgentBody
from maverick.server.answer_body import AnswerBody
from maverick.server.answer_job import Question
from maverick.server.dependencies import (
    CONFLICT,
    NOT_FOUND,
    REFUSALS,
    ChatService,
    Id,
    IdempotencyKey,
    LastEventId,
    Number,
    PathId,
    Service,
    User,
    Words,
    stream_format,
)
from maverick.server.errors import RequestRefusedError
from maverick.server.event_stream import EVENT_STREAM, StreamFormat, answer_stream
from maverick.server.events import Answer
from maverick.server.stream_encoders import StreamEncoder
from maverick.server.tokens import Principal

router = APIRouter(prefix="/api", tags=["chat"], responses={**REFUSALS, **NOT_FOUND, **CONFLICT})

ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"model": AnswerBody, "content": {EVENT_STREAM: {"schema": {"type": "string"}}}}
}
"""An answer: whole, or as a stream of events."""


class Attachment(BaseModel):
    """An image (PNG, JPEG, GIF or WebP), a PDF or a text; which of them is found from its content."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=200), AfterValidator(storable)] = ""
    data: Base64Bytes

    def part(self) -> Image | Document:
        """It as a part of a message."""
        return media_from_bytes(self.data, name=self.name)


class ChatRequest(BaseModel):
    """What a user says."""

    model_config = ConfigDict(extra="forbid")

    message: Words | None = None
    """The words; an agent whose inputs are given needs none."""
    conversation_id: Id | None = None
    """The conversation; without one, a new one is started."""
    agent: Annotated[str, Field(max_length=100)] | None = None
    """The agent of a new conversation; by default the first of ``GET /api/agents``."""
    inputs: Annotated[dict[str, Any], Field(max_length=100)] | None = None
    """What the agent is given with the first message of a conversation, by name."""
    model: Annotated[str, Field(max_length=200)] | None = None
    """The model that answers in this conversation from now on, of the ``models`` of its agent."""
    replaces: Number | None = None
    """A message of the user in this conversation to take back, with everything after it."""
    attachments: Annotated[list[Attachment], Field(max_length=20)] = []
    """What is sent with the message."""


class SayRequest(BaseModel):
    """What a user says to an answer in progress."""

    model_config = ConfigDict(extra="forbid")

    message: Words


class AgentList(BaseModel):
    """The agents that conversations can be had with."""

    agents: list[AgentBody]


@router.get("/agents")
async def list_agents(user: User, service: Service) -> AgentList:  # noqa: ARG001 - for users only
    """The agents that conversations can be had with; the first is the default."""
    return AgentList(agents=await service.agents.listing())


@router.post("/chat", response_model=None, responses=ANSWER)
async def chat(
    body: ChatRequest,
    request: Request,
    user: User,
    service: Service,
    format: StreamFormat | None = None,  # noqa: A002 - what it is called in the address
    idempotency_key: IdempotencyKey = None,
    last_event_id: LastEventId = None,
) -> Response:
    """Send a message. The answer is JSON, or a stream of events if the client accepts that."""
    if sum(len(attached.data) for attached in body.attachments) > service.limits.attachment_bytes:
        most = service.limits.attachment_bytes
        raise RequestRefusedError(413, "too_large", f"Attachments may have {most} bytes together.")
    try:
        sent = tuple(attached.part() for attached in body.attachments)
    except InvalidInputError as error:
        raise RequestRefusedError(422, "invalid", f"attachments: {error}") from error
    if body.message is None and not body.inputs:
        raise RequestRefusedError(422, "invalid", "message: expected some text.")
    question = Question(
        body.message or "",
        body.conversation_id,
        body.replaces,
        attachments=sent,
        agent=body.agent,
        inputs=body.inputs,
        model=body.model,
    )
    answer = await service.answers.start(user.user_id, question, idempotency_key)
    return await answered(service, user, answer, stream_format(request, format), last_event_id)


@router.get("/runs/{run_id}", response_model=None, responses=ANSWER)
async def get_answer(run_id: PathId, user: User, service: Service) -> Response:
    """An answer, as soon as it is complete."""
    answer = await service.answers.find(user.user_id, run_id)
    return await answered(service, user, answer, None)


@router.get(
    "/runs/{run_id}/events",
    response_model=None,
    responses={
        200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
        204: {"description": "There are no more events."},
    },
)
async def follow_answer(
    run_id: PathId,
    user: User,
    service: Service,
    format: StreamFormat = StreamFormat.EVENTS,  # noqa: A002 - what it is called in the address
    last_event_id: LastEventId = None,
) -> Response:
    """An answer as a stream; from the client's last event on, if it names one."""
    answer = await service.answers.find(user.user_id, run_id)
    return followed(service, user, answer, format.encoder(), last_event_id)


@router.post("/runs/{run_id}/stop", response_model=None, responses=ANSWER)
async def stop_answer(run_id: PathId, user: User, service: Service) -> Response:
    """Stop an answer and keep the partial text. One that is complete stays as it is."""
    answer = await service.answers.stop(user.user_id, run_id)
    return await answered(service, user, answer, None)


@router.post("/runs/{run_id}/say", status_code=204)
async def say_to_answer(run_id: PathId, body: SayRequest, user: User, service: Service) -> None:
    """Say something to an answer in progress: the agent hears it before its next turn.

    One that waits for a decision hears it when it goes on. The task chat does not listen while it answers.
    """
    await service.answers.say(user.user_id, run_id, body.message)


async def answered(
    service: ChatService,
    user: Principal,
    answer: Answer,
    wanted: StreamFormat | None,
    last_event_id: str | None = None,
) -> Response:
    """An answer in the format that is wanted: whole, if none is."""
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
    """An answer as a stream, within the limit of streams a user may have open."""
    service.streams.acquire(user.user_id)
    return answer_stream(
        answer,
        encoder,
        after=int(last_event_id or 0),
        on_close=lambda: service.streams.release(user.user_id),
    )
