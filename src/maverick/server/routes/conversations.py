"""The user's conversations, and their export: JSON for programs, Markdown for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import AfterValidator, BaseModel, Field

from maverick.chat.confirmations import pending_confirmations
from maverick.chat.conversations import ConversationStore
from maverick.chat.tables import ChatMessage, Conversation, ToolCall, storable
from maverick.server.answer import AnswerStatus, ApprovalBody, ToolCallBody
from maverick.server.dependencies import REFUSALS, ChatService, PathId, RequestBody, Service, User
from maverick.server.errors import not_found
from maverick.server.event_stream import CONVERSATIONS
from maverick.server.markdown import render_markdown
from maverick.server.tables import AnswerRecords
from maverick.server.tokens import Principal
from maverick.tools.threads import run_in_thread

router = APIRouter(prefix="/api/conversations", tags=["conversations"], responses=REFUSALS)

_OF_CONVERSATION = ("id", "title", "agent", "created_at", "updated_at")
_ALWAYS = ("role", "content", "tool_calls")
_IF_ANY = ("attachments", "output", "parts", "reason")
_LONGEST_NAME = 60


def _one_line(title: str) -> str:
    if not title.strip() or not title.isprintable():
        raise ValueError("expected a line of text")
    return title.strip()


class ConversationBody(BaseModel):
    """A conversation."""

    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    agent: str
    """The agent it is with."""
    model: str | None = None
    """The model that was chosen for it last, if one was."""
    running: str | None = None
    """The answer in progress, if there is one."""

    @classmethod
    def of(cls, conversation: Conversation) -> ConversationBody:
        """A conversation as it is saved."""
        shown = conversation.model_dump(include={"id", "title", "agent", "model", "created_at", "updated_at"})
        return cls(**shown, running=conversation.active_run)


class AttachmentBody(BaseModel):
    """An image or a document that was sent with a message."""

    name: str
    media_type: str


class PartBody(BaseModel):
    """A part of an answer."""

    type: Literal["text", "thinking", "tool_call", "said"]
    """Words, what the model thought, a tool call, or what the user said meanwhile."""
    text: str = ""
    number: int | None = None
    """Which of the tool calls it is, from 0."""
    html: list[str] | None = None
    """The blocks of words as HTML, if that was asked for."""


class MessageBody(BaseModel):
    """A message of a conversation."""

    id: int
    role: str
    content: str
    run_id: str | None
    """The answer it is, or the one it asked for."""
    created_at: datetime
    tool_calls: list[ToolCallBody]
    attachments: list[AttachmentBody] | None = None
    output: Any = None
    """An answer as JSON values, if its agent declares a type of output."""
    parts: list[PartBody] | None = None
    """What an answer is made of, in order, if that is more than its content."""
    html: list[str] | None = None
    """The blocks of an answer as HTML, if that was asked for."""
    status: AnswerStatus = AnswerStatus.COMPLETE
    """How an answer has ended."""
    reason: str = ""
    """Why it failed, in plain words, if it did."""

    @classmethod
    def of(
        cls, message: ChatMessage, calls: list[ToolCall], ended: tuple[str, str] | None, *, html: bool
    ) -> MessageBody:
        """A message as it is saved."""
        body = cls(**message.model_dump(), tool_calls=list(map(ToolCallBody.model_validate, calls)))
        if ended is not None and message.role == "assistant":
            body.status, body.reason = AnswerStatus(ended[0]), ended[1]
        if html and message.role == "assistant":
            body.html = render_markdown(message.content)
            for part in body.parts or ():
                part.html = render_markdown(part.text) if part.type == "text" else None
        return body


class WholeConversation(ConversationBody):
    """A conversation with its messages."""

    messages: list[MessageBody]
    inputs: dict[str, Any] | None = None
    """What its agent was given with the first message, if it takes inputs."""
    approval: ApprovalBody | None
    """The question it waits for, if there is one."""
    queued: Sequence[str] = ()
    """What the user said to the answer in progress that its agent has not heard yet."""


class ConversationList(BaseModel):
    """The user's conversations, the newest first."""

    conversations: list[ConversationBody]


class Renaming(RequestBody):
    """The new title of a conversation."""

    title: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)]


@router.get("")
def list_conversations(
    user: User, service: Service, search: Annotated[str, Query(max_length=200)] = ""
) -> ConversationList:
    """The user's conversations, the newest first; those that have some words in them, if these are given."""
    with service.session(user) as session:
        found = ConversationStore(session, user.user_id).newest(storable(search).split())
    return ConversationList(conversations=[ConversationBody.of(conversation) for conversation in found])


@router.get("/{conversation_id}")
async def get_conversation(
    conversation_id: PathId, user: User, service: Service, *, html: bool = False
) -> WholeConversation:
    """A conversation with its messages; with ``html``, answers are rendered as HTML that is safe to show, too."""
    found = await run_in_thread(_get, service, user, conversation_id, html=html)
    if found.running is None:
        return found
    found.queued = await service.answers.queued(found.running)
    asked = await service.answers.approvals.waits_for(user.user_id, found.running)
    return found if asked is None else found.model_copy(update={"approval": asked, "running": None})


def _get(service: ChatService, user: Principal, conversation_id: str, *, html: bool) -> WholeConversation:
    with service.session(user) as session:
        store = ConversationStore(session, user.user_id)
        conversation = store.get(conversation_id)
        if conversation is None:
            raise not_found("conversation")
        messages, calls = store.messages(conversation_id), store.tool_calls(conversation_id)
        ended = AnswerRecords(session, user.user_id).unfinished(conversation_id)
        asked = [
            question
            for question in pending_confirmations(session, user.user_id)
            if question.conversation_id == conversation_id
        ]
    return WholeConversation(
        **ConversationBody.of(conversation).model_dump(),
        inputs=conversation.inputs,
        messages=[
            MessageBody.of(
                message, calls.get(message.id or 0, []), ended.get(message.run_id or ""), html=html
            )
            for message in messages
        ],
        approval=ApprovalBody.of_task_chat(asked[-1]) if asked else None,
    )


@router.patch("/{conversation_id}")
def rename_conversation(
    conversation_id: PathId, renaming: Renaming, user: User, service: Service
) -> ConversationBody:
    """Give a conversation another title."""
    with service.session(user, writes=True) as session:
        renamed = ConversationStore(session, user.user_id).rename(conversation_id, renaming.title)
    if renamed is None:
        raise not_found("conversation")
    return ConversationBody.of(renamed)


@router.delete("/{conversation_id}", status_code=204)
async def delete_conversation(conversation_id: PathId, user: User, service: Service) -> None:
    """Delete a conversation and stop its answer in progress. What its tools have done stays done."""
    await service.answers.stop_in(user.user_id, conversation_id)
    if not await run_in_thread(_delete, service, user, conversation_id):
        raise not_found("conversation")
    service.updates.publish(user.user_id, CONVERSATIONS)


@router.get("/{conversation_id}/export", response_model=None)
async def export_conversation(
    conversation_id: PathId,
    user: User,
    service: Service,
    format: Literal["json", "markdown"] = "json",  # noqa: A002 - what it is called in the address
) -> Response:
    """A whole conversation as a file to download, for programs or for people."""
    found = exported((await get_conversation(conversation_id, user, service)).model_dump(mode="json"))
    if format == "markdown":
        headers = {"Content-Disposition": disposition(found["title"], "md")}
        return Response(as_markdown(found), media_type="text/markdown; charset=utf-8", headers=headers)
    headers = {"Content-Disposition": disposition(found["title"], "json")}
    shown = json.dumps(found, ensure_ascii=False, indent=2)
    return Response(shown, media_type="application/json", headers=headers)


def _delete(service: ChatService, user: Principal, conversation_id: str) -> bool:
    with service.session(user, writes=True) as session:
        AnswerRecords(session, user.user_id).forget(conversation_id)
        return ConversationStore(session, user.user_id).delete(conversation_id)


def exported(conversation: Mapping[str, Any]) -> dict[str, Any]:
    """What is exported of a conversation in the form of ``GET /api/conversations/{id}``.

    What was said to the answer in progress, and not heard yet, comes last.
    """
    messages = [
        {
            **{name: message[name] for name in _ALWAYS},
            "timestamp": message["created_at"],
            **{name: message[name] for name in _IF_ANY if message[name] not in (None, "")},
            **({} if message["status"] == "complete" else {"status": message["status"]}),
        }
        for message in conversation["messages"]
    ]
    queued = [{"role": "user", "content": text, "status": "queued"} for text in conversation["queued"]]
    return {**{name: conversation[name] for name in _OF_CONVERSATION}, "messages": messages + queued}


def as_markdown(conversation: Mapping[str, Any]) -> str:
    """An exported conversation, for people."""
    blocks = [f"# {conversation['title']}"]
    for message in conversation["messages"]:
        speaker = "You" if message["role"] == "user" else conversation["agent"]
        status = message.get("status")
        blocks.append(f"## {speaker}" + (f" ({status})" if status else ""))
        blocks += _blocks(message)
    return "\n\n".join(block for block in blocks if block.strip()) + "\n"


def disposition(title: str, ending: str) -> str:
    """The header that names a download after its conversation."""
    name = re.sub(r"[^\w.,()'-]+", " ", title)[:_LONGEST_NAME].strip(" .") or "conversation"
    plain = name.encode("ascii", "ignore").decode().strip() or "conversation"
    return f"attachment; filename=\"{plain}.{ending}\"; filename*=UTF-8''{quote(f'{name}.{ending}')}"


def _blocks(message: Mapping[str, Any]) -> Iterator[str]:
    """What was said and done in a message, in order."""
    calls = message.get("tool_calls") or []
    parts = message.get("parts") or [{"type": "tool_call", "number": number} for number in range(len(calls))]
    for part in parts:
        if part["type"] == "tool_call":
            yield _call(calls[part["number"]])
        elif part["type"] == "said":
            yield f"**You, meanwhile:** {part['text']}"
        elif part["type"] == "text":
            yield part["text"]
    if "output" in message:
        yield _fenced(message["output"])
    elif not any(part.get("text") == message["content"] for part in parts):
        yield message["content"]
    for attached in message.get("attachments", ()):
        yield f"*Attached: {attached['name'] or attached['media_type']}*"
    if reason := message.get("reason"):
        yield f"*{reason}*"


def _call(call: Mapping[str, Any]) -> str:
    return f"**{call['tool_name']}**\n\n{_fenced(call['parameters'])}\n\nResult:\n\n{_fenced(call['result'])}"


def _fenced(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
