"""An answer: what is asked, what is needed to make it, what came of it, and what the API returns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from maverick.chat import AgentContext, ToolCallRecord
from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.chat.tables import TASKS_AGENT, Confirmation
from maverick.journal import Approval
from maverick.model import Document, Image


class AnswerStatus(StrEnum):
    """Where an answer stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    """The user stopped it; the partial answer is kept."""
    WAITING = "waiting"
    """A tool call waits for a person's decision; the answer continues under the same id when it is made."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Question:
    """What a user says, or decides."""

    message: str
    conversation_id: str | None = None
    """The conversation; by default a new one."""
    replaces: int | None = None
    """The message of the user to take back, with everything after it."""
    may_create: bool = False
    """Whether to create a conversation that does not exist, under the id the client chose."""
    approval_id: str | None = None
    """The approval that this decides on."""
    approved: bool = False
    """Whether the user agrees."""
    attachments: tuple[Image | Document, ...] = ()
    """What is sent with the message."""
    agent: str | None = None
    """The agent that answers in a new conversation; by default the server's first."""
    inputs: Mapping[str, Any] | None = None
    """What the agent is given with the first message, by name."""
    model: str | None = None
    """The model that answers from now on, of those that the agent offers."""

    @property
    def shown(self) -> str:
        """The message as it is shown: what the user says, or the inputs that the agent is given."""
        if self.message or not self.inputs:
            return self.message
        lines = (
            f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            for name, value in self.inputs.items()
        )
        return "\n".join(lines)[:MESSAGE_LENGTH]

    def digest(self) -> str:
        """A hash, to tell the same request sent again from another one."""
        parts: list[object] = [
            self.message,
            self.conversation_id,
            self.replaces,
            self.approval_id,
            self.approved,
        ]
        if self.agent is not None or self.inputs is not None:
            parts += [self.agent, json.dumps(self.inputs, sort_keys=True)]
        if self.model is not None:
            parts.append(self.model)
        parts += [part.blob.sha256 for part in self.attachments if part.blob is not None]
        said = "\0".join(map(str, parts))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """One answer."""

    run_id: str
    """Its id, and that of its run in the journal."""
    conversation_id: str
    request_hash: str
    """A hash of the request, to tell the same request sent again from another one."""
    request_key: str | None = None
    """The idempotency key of the request, if it had one."""
    status: str = AnswerStatus.RUNNING.value
    last_event: int = 0
    """The number of its last event, if it has ended."""
    reason: str = ""
    """Why it failed, if it did."""
    cost_usd: float = 0.0
    """What it has cost so far."""


@dataclass(frozen=True, slots=True)
class AnswerJob:
    """A question to answer, with all that is needed for it."""

    record: AnswerRecord
    context: AgentContext
    message: str
    user_message_id: int
    asked_at: datetime
    attachments: Sequence[Image | Document] = ()
    agent: str = TASKS_AGENT
    inputs: Mapping[str, Any] | None = None
    """What the agent of the conversation was given with the first message."""
    earlier_run: str | None = None
    """The run of the answer before, if there was one."""
    model: str | None = None
    """The model that was chosen, if one was."""
    former_run: str | None = None
    """The id of its run in the journal, if that is not its own."""

    @property
    def run_id(self) -> str:
        """The id of its run in the journal."""
        return self.former_run or self.record.run_id

    @property
    def user_id(self) -> str:
        """Whose answer it is."""
        return self.context.user_id

    @property
    def is_first(self) -> bool:
        """Whether nothing was said before."""
        return not self.context.message_history

    @property
    def goes_on(self) -> bool:
        """Whether a part of the answer is there, and more is to come after a decision."""
        return self.record.last_event > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of the run of an answer."""

    status: AnswerStatus
    response: str
    tool_calls: Sequence[ToolCallRecord] = ()
    reason: str = ""
    """Why it failed, in plain words."""
    output: Any = None
    """The answer as JSON values, if it has a type."""
    parts: list[dict[str, Any]] | None = None
    """What it is made of, in order, if that is more than its last words."""
    cost_usd: float = 0.0
    approval: Approval | None = None
    """What a person is to decide before it continues."""
    may_decide: bool = True
    """Whether that may be the user."""
    may_ask: bool = False
    """Whether a task tool may have asked for a confirmation."""


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
    """The answer that waits for it, and continues."""
    may_decide: bool = True
    """Whether the user may decide it; else somebody else has to."""

    @classmethod
    def of_task_chat(cls, asked: Confirmation) -> ApprovalBody:
        """A question of a task tool, which only the user it belongs to is ever shown."""
        return cls.model_validate(asked).model_copy(update={"user_id": None})

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
    """Why it failed, or why this server cannot continue one that waits, in plain words."""
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
