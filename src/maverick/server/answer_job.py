"""What a user asks, what is needed to answer it, and what came of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from maverick.chat import AgentContext, ToolCallRecord
from maverick.chat.prompt import MESSAGE_LENGTH
from maverick.chat.tables import TASKS_AGENT
from maverick.journal import Approval
from maverick.model import Document, Image
from maverick.server.answer_body import AnswerStatus
from maverick.server.answer_records import AnswerRecord


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
        parts: tuple[object, ...] = (
            self.message,
            self.conversation_id,
            self.replaces,
            self.approval_id,
            self.approved,
        )
        if self.agent is not None or self.inputs is not None:
            parts = (*parts, self.agent, json.dumps(self.inputs, sort_keys=True))
        if self.model is not None:
            parts = (*parts, self.model)
        hashes = [part.blob.sha256 for part in self.attachments if part.blob is not None]
        said = "\0".join(str(part) for part in (*parts, *hashes))
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


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
    """What a person is to decide before it goes on."""
    may_decide: bool = True
    """Whether that may be the user."""
    may_ask: bool = False
    """Whether a task tool may have asked for a confirmation."""
