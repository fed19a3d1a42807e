"""An answer as the API returns it: whole in JSON, and as the last event of a stream."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from maverick.chat.tables import TASKS_AGENT
from maverick.journal import Approval


class AnswerStatus(StrEnum):
    """Where an answer stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    """The user stopped it; the partial answer is kept."""
    WAITING = "waiting"
    """A tool call waits for a person's decision; the answer goes on under the same id when it is made."""
    FAILED = "failed"


class ToolCallBody(BaseModel):
    """A tool call made for an answer."""

    model_config = ConfigDict(from_attributes=True)

    tool_name: str
    parameters: dict[str, Any]
    result: dict[str, Any]
    duration_ms: int


class ApprovalBody(BaseModel):
    """A question whether to go ahead: of a task tool, or a request for approval in the journal."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    conversation_id: str
    tool_name: str
    question: str
    action: str = ""
    """What will happen, and to how much, for a button: ``Delete 12 tasks``; empty if only the tool is known."""
    phrase: str = ""
    """What to reply in the conversation to agree, if that is a way to."""
    expires_at: datetime | None = None
    """When it is too late; ``None`` for never."""
    agent: str = TASKS_AGENT
    arguments: dict[str, Any] | None = None
    """What the tool would be called with."""
    user_id: str | None = None
    """Whose answer waits for it, if it is another user's."""
    run_id: str | None = None
    """The answer that waits for it, and goes on."""
    may_decide: bool = True
    """Whether the user may decide it; else somebody else has to."""

    @classmethod
    def of(
        cls,
        asked: Approval,
        agent: str,
        conversation_id: str,
        *,
        for_other: bool = False,
        may_decide: bool = True,
    ) -> ApprovalBody:
        """A request in the journal."""
        return cls(
            id=asked.approval_id,
            conversation_id=conversation_id,
            tool_name=asked.tool_name,
            question=asked.question or f"May {agent} call {asked.tool_name}?",
            expires_at=None if asked.expires_at is None else datetime.fromtimestamp(asked.expires_at, UTC),
            agent=agent,
            arguments=dict(asked.arguments),
            user_id=asked.user_id if for_other else None,
            run_id=None if for_other else asked.run_id.partition("/")[0],
            may_decide=may_decide,
        )


class AnswerBody(BaseModel):
    """An answer that is complete, stopped or failed."""

    run_id: str
    conversation_id: str
    status: AnswerStatus
    response: str
    """The answer, in words for the user; if it was stopped, the part that was there."""
    reason: str = ""
    """Why it failed, or why this server cannot go on with one that waits, in plain words."""
    output: Any = None
    """The answer as JSON values, if its agent declares a type of output."""
    tool_calls: list[ToolCallBody] = []
    approval: ApprovalBody | None = None
    """The question the conversation waits for, if there is one."""
    user_message_id: int | None = None
    message_id: int | None = None
    """The message the answer is saved as; ``None`` if its conversation was deleted in the meantime."""
    created_at: datetime | None = None
    """When it was saved; its conversation was changed at the same time."""
