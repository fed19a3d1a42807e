"""Asking an agent, and following its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import AfterValidator, Base64Bytes, BaseModel, Field

from maverick.chat.tables import storable
from maverick.exceptions import InvalidInputError
from maverick.model.media import media_from_bytes
from maverick.server.agents import AgentBody
from maverick.server.answer import Question
from maverick.server.dependencies import (
    ANSWER,
    REFUSALS,
    STREAM,
    Id,
    IdempotencyKey,
    LastEventId,
    Number,
    PathId,
    RequestBody,
    Respond,
    Service,
    User,
    Words,
    whole,
)
from maverick.server.errors import RequestRefusedError
from maverick.server.event_stream import StreamFormat

router = APIRouter(prefix="/api", tags=["chat"], responses=REFUSALS)


class Attachment(RequestBody):
    """An image (PNG, JPEG, GIF or WebP), a PDF or a text; which of them is found from its content."""

    name: Annotated[str, Field(max_length=200), AfterValidator(storable)] = ""
    data: Base64Bytes


class ChatRequest(RequestBody):
    """What a user says."""

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
    attachments: Annotated[Sequence[Attachment], Field(max_length=20)] = ()
    """What is sent with the message."""


class SayRequest(RequestBody):
    """What a user says to an answer in progress."""

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
    body: ChatRequest, user: User, service: Service, respond: Respond, idempotency_key: IdempotencyKey = None
) -> Response:
    """Send a message. The answer is JSON, or a stream of events if the client accepts that."""
    most = service.limits.attachment_bytes
    if sum(len(attached.data) for attached in body.attachments) > most:
        raise RequestRefusedError(413, "too_large", f"Attachments may have {most} bytes together.")
    try:
        sent = tuple(media_from_bytes(attached.data, name=attached.name) for attached in body.attachments)
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
    return await respond(await service.answers.start(user.user_id, question, idempotency_key))


@router.get("/runs/{run_id}", response_model=None, responses=ANSWER)
async def get_answer(run_id: PathId, user: User, service: Service) -> Response:
    """An answer, as soon as it is complete."""
    return await whole(await service.answers.find(user.user_id, run_id))


@router.get(
    "/runs/{run_id}/events",
    response_model=None,
    responses={**STREAM, 204: {"description": "There are no more events."}},
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
    return service.stream(user, answer, format.encoder(), last_event_id)


@router.post("/runs/{run_id}/stop", response_model=None, responses=ANSWER)
async def stop_answer(run_id: PathId, user: User, service: Service) -> Response:
    """Stop an answer and keep the partial text. One that is complete stays as it is."""
    return await whole(await service.answers.stop(user.user_id, run_id))


@router.post("/runs/{run_id}/say", status_code=204)
async def say_to_answer(run_id: PathId, body: SayRequest, user: User, service: Service) -> None:
    """Say something to an answer in progress: the agent hears it before its next turn.

    One that waits for a decision hears it when it continues. The task chat does not listen while it answers.
    """
    await service.answers.say(user.user_id, run_id, body.message)
