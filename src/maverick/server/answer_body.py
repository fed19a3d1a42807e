"""An answer as the API gives it: whole in JSON, and as the last event of a stream."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from maverick.chat.tables import Confirmation, ToolCall


class AnswerStatus(StrEnum):
    """What became of an answer."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    """The user stopped it; what there was of it is kept."""
    FAILED = "failed"


class ToolCallBody(BaseModel):
    """A tool that was called for an answer."""

    tool_name: str
    parameters: dict[str, Any]
    result: dict[str, Any]
    duration_ms: int

    @classmethod
    def of(cls, call: ToolCall) -> ToolCallBody:
        """A tool call as it is kept."""
        return cls.model_validate(call.model_dump())


class ApprovalBody(BaseModel):
    """A question whether to go ahead."""

    id: str
    conversation_id: str
    tool_name: str
    question: str
    phrase: str
    """What to say to agree, in the conversation."""
    expires_at: datetime

    @classmethod
    def of(cls, asked: Confirmation) -> ApprovalBody:
        """A question as it is kept."""
        return cls.model_validate(asked.model_dump())


class AnswerBody(BaseModel):
    """An answer that is over."""

    run_id: str
    conversation_id: str
    status: AnswerStatus
    response: str
    """The answer, in words for the user; of one that was stopped, what there was of it."""
    reason: str = ""
    """Why it failed, in plain words, if it did."""
    tool_calls: list[ToolCallBody] = []
    approval: ApprovalBody | None = None
    """The question the conversation waits for, if it does."""
    user_message_id: int | None = None
    message_id: int | None = None
    """The message the answer is kept as; ``None`` if its conversation was deleted in the meantime."""
    created_at: datetime | None = None
    """When it was kept, which is when its conversation was last changed."""
