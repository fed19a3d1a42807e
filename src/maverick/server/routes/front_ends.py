"""Front ends made for other servers: AG-UI clients and Vercel's AI SDK."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, Field

from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.server.answer import Question
from maverick.server.dependencies import REFUSALS, STREAM, ApprovalId, ChatService, Id, Service, User
from maverick.server.errors import RequestRefusedError, not_found
from maverick.server.events import Answer
from maverick.server.stream_encoders import AgUiEncoder, AiSdkEncoder
from maverick.server.tokens import Principal

router = APIRouter(prefix="/api", tags=["other front ends"], responses={**REFUSALS, **STREAM})

AgentName = Annotated[
    str | None, Query(max_length=100, description="The agent of a new conversation; by default the first.")
]


class AiSdkApproval(BaseModel):
    """The user's decision on a tool call."""

    id: ApprovalId
    approved: bool | None = None


class Part(BaseModel):
    """A part of a message: text is read, and with the AI SDK the decision on a tool call."""

    type: str
    text: str = ""
    state: str = ""
    toolCallId: str = ""  # noqa: N815 - the protocol's name
    approval: AiSdkApproval | None = None


class AgUiMessage(BaseModel):
    """A message of an AG-UI thread."""

    role: str
    content: str | list[Part] | None = None


class AgUiResume(BaseModel):
    """The answer to the interrupt that the previous run ended with."""

    interruptId: ApprovalId  # noqa: N815 - the protocol's name
    status: Literal["resolved", "cancelled"]
    payload: Any = None

    @property
    def approved(self) -> bool:
        """Whether the user agrees: a resolution without more is a yes, and of what it says only a clear yes is one."""
        said = self.payload.get("approved") if isinstance(self.payload, dict) else self.payload
        return self.status == "resolved" and (self.payload is None or said is True)


class AgUiRun(BaseModel):
    """What an AG-UI client sends to run an agent."""

    threadId: Id  # noqa: N815 - the protocol's name
    runId: Id  # noqa: N815 - the protocol's name
    messages: list[AgUiMessage] = []
    resume: Annotated[list[AgUiResume] | None, Field(max_length=1)] = None


class AiSdkMessage(BaseModel):
    """A message of a chat of the AI SDK."""

    role: str
    parts: list[Part] = []


class AiSdkChat(BaseModel):
    """What ``useChat`` of the AI SDK sends."""

    id: Id
    messages: Annotated[list[AiSdkMessage], Field(min_length=1)]


@router.post("/ag-ui", response_model=None)
async def ag_ui(body: AgUiRun, user: User, service: Service, agent: AgentName = None) -> Response:
    """For AG-UI clients: the thread is a conversation, and its newest message is answered.

    A question whether to go ahead ends the run as an interrupt, which the next run resumes.
    """
    key = f"ag-ui {body.threadId} {body.runId}"
    if body.resume:
        resumed = body.resume[0]
        answer = await _decided(service, user, resumed.interruptId, key, approved=resumed.approved)
    else:
        newest = body.messages[-1] if body.messages else AgUiMessage(role="user")
        question = Question(_text(newest.role, newest.content), body.threadId, may_create=True, agent=agent)
        answer = await service.answers.start(user.user_id, question, key)
    return service.stream(user, answer, AgUiEncoder(body.runId))


@router.post("/ai-sdk", response_model=None)
async def ai_sdk(body: AiSdkChat, user: User, service: Service, agent: AgentName = None) -> Response:
    """For Vercel's AI SDK: the chat is a conversation, and its newest message is answered.

    A question whether to go ahead is an approval request of its tool call, which the next message answers.
    """
    newest, encoder = body.messages[-1], AiSdkEncoder()
    responses = [part for part in newest.parts if part.approval and part.state == "approval-responded"]
    if newest.role == "assistant" and responses and (approval := responses[-1].approval):
        approved = approval.approved is True
        encoder = AiSdkEncoder(responses[-1].toolCallId, approved=approved)
        answer = await _decided(service, user, approval.id, None, approved=approved)
    else:
        question = Question(_text(newest.role, newest.parts), body.id, may_create=True, agent=agent)
        answer = await service.answers.start(user.user_id, question)
    return service.stream(user, answer, encoder)


async def _decided(
    service: ChatService, user: Principal, approval_id: str, key: str | None, *, approved: bool
) -> Answer:
    answer = await service.answers.decide(user.user_id, approval_id, key, approved=approved)
    if answer is None:
        raise not_found("approval")  # it was another user's, and is decided
    return answer


def _text(role: str, content: str | list[Part] | None) -> str:
    """The text of the newest message, which has to be the user's."""
    if isinstance(content, list):
        content = "".join(part.text for part in content if part.type == "text")
    is_text = content is not None and content.strip() != "" and "\0" not in content
    if role != "user" or content is None or not is_text or len(content) > MESSAGE_LENGTH:
        raise RequestRefusedError(
            422,
            "invalid",
            f"The newest message must be the user's, with 1 to {MESSAGE_LENGTH} characters of text.",
        )
    return content
