"""The tables of the chat. Every row has an owner, and every query asks for it.

``migrations`` makes them; a test holds the two to each other.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import JSON, Column, DateTime, Dialect, Index, TypeDecorator, UniqueConstraint
from sqlmodel import Field, SQLModel

from maverick.journal import ApprovalStatus

TITLE_LENGTH = 255
DESCRIPTION_LENGTH = 1000
TASKS_AGENT = "tasks"
"""The name of the chat agent, whose conversations are older than those of others."""


class UtcDateTime(TypeDecorator[datetime]):
    """A time: aware in Python, and stored as UTC in every database."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """The time as UTC without a zone, as it is stored."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """The time with its zone."""
        return None if value is None else value.replace(tzinfo=UTC)


def now() -> datetime:
    """The current time."""
    return datetime.now(UTC)


def _time() -> Any:  # noqa: ANN401 - a field of whatever table
    return Field(default_factory=now, sa_type=UtcDateTime, nullable=False)


def _json(*, nullable: bool = True) -> Any:  # noqa: ANN401 - a field of whatever table
    kind = JSON(none_as_null=nullable)
    return Field(default=None if nullable else ..., sa_column=Column(kind, nullable=nullable))


def storable(text: str) -> str:
    """A text that every database accepts: without NULs and lone surrogates."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


class Task(SQLModel, table=True):
    """Something a user has to do."""

    __tablename__ = "tasks"

    id: int | None = Field(default=None, primary_key=True)
    user_id: str = Field(index=True)
    title: str = Field(max_length=TITLE_LENGTH)
    description: str = Field(default="", max_length=DESCRIPTION_LENGTH)
    priority: str = "Medium"
    due_date: date | None = None
    completed: bool = False
    created_at: datetime = _time()
    updated_at: datetime = _time()


class Conversation(SQLModel, table=True):
    """A conversation of a user. Two users may use the same id without ever meeting."""

    __tablename__ = "conversations"

    user_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    title: str = ""
    active_run: str | None = None
    """The run that writes into it, if there is one."""
    agent: str = TASKS_AGENT
    """The agent that answers in it."""
    inputs: dict[str, Any] | None = _json()
    """The inputs its agent was given with the first message, if it takes any besides words."""
    model: str | None = None
    """The model that was chosen for it last, if one was."""
    created_at: datetime = _time()
    updated_at: datetime = _time()


class ChatMessage(SQLModel, table=True):
    """A message of a conversation."""

    __tablename__ = "messages"

    id: int | None = Field(default=None, primary_key=True)
    user_id: str = Field(index=True)
    conversation_id: str = Field(index=True)
    role: str
    content: str
    run_id: str | None = None
    """The run that answered it, or whose answer it is."""
    created_at: datetime = _time()
    attachments: list[dict[str, str]] | None = _json()
    """The names and media types of what was sent with it, if anything was."""
    output: Any = _json()
    """The answer as JSON values, if its agent declares a type of output."""
    parts: list[dict[str, Any]] | None = _json()
    """What an answer is made of besides its last words, in order, if it is more than these."""


class Attachment(SQLModel, table=True):
    """The content of an image or a document that was sent with a message."""

    __tablename__ = "attachments"

    id: int | None = Field(default=None, primary_key=True)
    user_id: str = Field(index=True)
    message_id: int = Field(index=True)
    name: str
    data: bytes


class ToolCall(SQLModel, table=True):
    """A tool call that was made for an answer."""

    __tablename__ = "tool_calls"

    id: int | None = Field(default=None, primary_key=True)
    user_id: str = Field(index=True)
    message_id: int = Field(index=True)
    tool_name: str
    parameters: dict[str, Any] = _json(nullable=False)
    result: dict[str, Any] = _json(nullable=False)
    duration_ms: int


class Change(SQLModel, table=True):
    """A change to a user's tasks: for undo, and to keep a repeated call from acting twice."""

    __tablename__ = "changes"
    __table_args__ = (UniqueConstraint("user_id", "key"),)

    id: int | None = Field(default=None, primary_key=True)
    user_id: str = Field(index=True)
    key: str
    """The idempotency key of the call that made it."""
    tool_name: str
    arguments_hash: str
    before: list[dict[str, Any]] = _json(nullable=False)
    """The tasks it changed or removed, as they were."""
    after: list[dict[str, Any]] = _json(nullable=False)
    """The tasks it added or changed, as they were then."""
    result: dict[str, Any] = _json(nullable=False)
    """What the call answered."""
    undone: bool = False
    created_at: datetime = _time()


class HeardRequest(SQLModel, table=True):
    """A request whose message has been checked for the answer to an open question."""

    __tablename__ = "heard_requests"
    __table_args__ = (Index("ix_heard_requests_heard_at", "user_id", "heard_at"),)

    user_id: str = Field(primary_key=True)
    request: str = Field(primary_key=True)
    conversation_id: str
    """The conversation it was sent to; empty in rows of an older version."""
    heard_at: datetime = _time()


class Confirmation(SQLModel, table=True):
    """A question whether to go ahead: good for one action on certain tasks, once, and not for long."""

    __tablename__ = "confirmations"

    id: str = Field(primary_key=True)
    user_id: str = Field(index=True)
    conversation_id: str
    tool_name: str
    binding: str
    """The hash of the tool's definition and of what exactly it would do."""
    phrase: str
    """What the user has to reply."""
    question: str
    action: str = ""
    """What will happen, and to how much, in the words of a button: ``Delete 12 tasks``."""
    tasks: list[int] | None = _json()
    """The ids of the tasks that an action on many is for; unknown in rows of an older version."""
    spared: list[int] | None = _json()
    """The ids of the tasks that this question, or one before it about the same action, said are left as they are."""
    status: str = Field(default=ApprovalStatus.PENDING.value)
    created_at: datetime = _time()
    expires_at: datetime = _time()
