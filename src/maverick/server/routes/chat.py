"""Asking an agent, following its answer, and deciding what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import AfterValidator, Base64Bytes, BaseModel, Field

from maverick.chat.confirmations import pending_confirmations
from maverick.chat.tables import storable
from maverick.exceptions import InvalidInputError
from maverick.model.media import media_from_bytes
from maverick.server.agents import AgentBody
from maverick.server.answer import ApprovalBody, Question
from maverick.server.dependencies import (
    ANSWER,
    REFUSALS,
    STREAM,
    ApprovalPathId,
    ChatService,
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
from maverick.server.events import Answer
from maverick.server.tokens import Principal
from maverick.tools.threads import run_in_thread

router = APIRouter(prefix="/api", tags=["chat"], responses=REFUSALS)
approvals = APIRouter(prefix="/api/approvals", tags=["approvals"], responses=REFUSALS)


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


@approvals.get("")
async def list_approvals(user: User, service: Service) -> ApprovalList:
    """What waits for the user's decision: in their own conversations, and of others if they may decide that."""
    asked = await run_in_thread(_confirmations, service, user)
    return ApprovalList(approvals=[*asked, *await service.answers.approvals.pending(user.user_id)])


@approvals.post("/{approval_id:path}/approve", response_model=None, responses=ANSWER)
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


@approvals.post("/{approval_id:path}/deny", response_model=None, responses=ANSWER)
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
