"""An answer as the API returns it: whole in JSON, and as the last event of a stream."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict


class AnswerStatus(StrEnum):
    """Where an answer stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    """The user stopped it; the partial answer is kept."""
    FAILED = "failed"


class ToolCallBody(BaseModel):
    """A tool call made for an answer."""

    model_config = ConfigDict(from_attributes=True)

    tool_name: str
    parameters: dict[str, Any]
    result: dict[str, Any]
    duration_ms: int


class ApprovalBody(BaseModel):
    """A question whether to go ahead."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    conversation_id: str
    tool_name: str
    question: str
    phrase: str
    """What to reply in the conversation to agree."""
    expires_at: datetime


class AnswerBody(BaseModel):
    """An answer that is complete, stopped or failed."""

    run_id: str
    conversation_id: str
    status: AnswerStatus
    response: str
    """The answer, in words for the user; if it was stopped, the part that was there."""
    reason: str = ""
    """Why it failed, in plain words, if it did."""
    tool_calls: list[ToolCallBody] = []
    approval: ApprovalBody | None = None
    """The question the conversation waits for, if there is one."""
    user_message_id: int | None = None
    message_id: int | None = None
    """The message the answer is saved as; ``None`` if its conversation was deleted in the meantime."""
    created_at: datetime | None = None
    """When it was saved; its conversation was changed at the same time."""
