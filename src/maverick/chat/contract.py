"""The types of the chat contract: what one invocation of the chat agent is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from maverick.chat import phrases
from maverick.exceptions import InvalidInputError, TimeoutError
from maverick.misuse import refuse
from maverick.model import Document, Image

T = TypeVar("T")

_ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class MessageHistory:
    """A single message of the conversation so far."""

    role: str
    """``"user"`` or ``"assistant"``."""
    content: str
    """The text."""
    timestamp: datetime
    """When it was sent."""
    tool_calls: list[dict[str, Any]] | None = None
    """The tool calls made for it; of the assistant's messages only."""

    def __post_init__(self) -> None:
        if self.role not in _ROLES:
            raise InvalidInputError(
                f"role: expected 'user' or 'assistant', got {self.role!r}.", field="message_history.role"
            )
        if not isinstance(self.content, str):
            raise InvalidInputError(
                f"content: expected a text, got {self.content!r}.", field="message_history.content"
            )


@dataclass(frozen=True, slots=True)
class MessageWithAttachments(MessageHistory):
    """A message that images and documents were sent with."""

    attachments: Sequence[Image | Document] = ()


@dataclass(frozen=True, slots=True)
class AgentContext:
    """The context of a single invocation of the chat agent; it is immutable.

    Agents that are classes have a context of the same name: :class:`maverick.agents.AgentContext`.
    """

    user_id: str
    """The authenticated user, from the check of credentials and never from a message."""
    conversation_id: str
    """The conversation."""
    message_history: list[MessageHistory]
    """The conversation so far, oldest first."""

    def __post_init__(self) -> None:
        for name in ("user_id", "conversation_id"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip() or not is_storable_name(value):
                refuse(name, f"expected a text that is not empty, got {value!r}.")
        object.__setattr__(self, "message_history", _listed("message_history", self.message_history))

    @classmethod
    def from_request(
        cls, user_id: str, conversation_id: str, messages: Sequence[Mapping[str, Any]]
    ) -> AgentContext:
        """The context of a Chat API request.

        Args:
            user_id: The authenticated user.
            conversation_id: The conversation.
            messages: The conversation so far, oldest first: ``role`` and ``content``, and perhaps ``timestamp``,
                ``tool_calls`` and ``attachments``.

        Raises:
            InvalidInputError: ``messages`` is not a list, or a message has no role or content, or an invalid one.
        """
        given = _listed("messages", messages)
        return cls(
            user_id, conversation_id, [_message(index, message) for index, message in enumerate(given)]
        )


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """A tool call the agent made."""

    tool_name: str
    """The tool."""
    parameters: dict[str, Any]
    """What the model passed. The user it acted for is injected below the model and is not among them."""
    result: dict[str, Any]
    """``{"success": true, "data": …}`` or ``{"success": false, "error": {"code", "message", "details"}}``."""
    duration_ms: int
    """How long it took."""


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The result of one invocation of the chat agent.

    Every other agent's result is a :class:`maverick.AgentResult`.
    """

    success: bool
    """Whether the agent did what it was asked, or asks whether to go ahead."""
    response: str
    """The answer, in words for the user."""
    tool_calls: list[ToolCallRecord]
    """The tools it called, in order."""
    error: str | None = None
    """What went wrong, in words for the user."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_calls", _listed("tool_calls", self.tool_calls))

    @property
    def is_answer(self) -> bool:
        """Whether the conversation can continue from it: for example when no task was found, but not after a failure."""
        return not any(words in (self.error or "") for words in phrases.BREAKDOWNS)

    @property
    def has_tool_calls(self) -> bool:
        """Whether the agent called any tool."""
        return len(self.tool_calls) > 0


class AnswerTimeoutError(TimeoutError):
    """An answer took too long; ``result`` has the tool calls made until then, and what they did in words for the user."""

    def __init__(self, message: str, result: AgentResult, **details: Any) -> None:
        super().__init__(message, **details)
        self.result = result


def is_storable_name(text: str) -> bool:
    """Whether every database accepts it: no NULs, no lone surrogates."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _listed(field: str, given: Iterable[T]) -> list[T]:
    """A list of its own of what was given for a field."""
    if not isinstance(given, Iterable):
        refuse(field, f"expected a list, got {given!r}.")
    return list(given)


def _message(index: int, given: Mapping[str, Any]) -> MessageHistory:
    try:
        role, content = given["role"], given["content"]
    except (KeyError, TypeError) as error:
        raise InvalidInputError(
            f"messages[{index}]: expected a mapping with 'role' and 'content'.", field="messages"
        ) from error
    at, calls = given.get("timestamp") or datetime.now(UTC), given.get("tool_calls")
    if attachments := given.get("attachments"):
        return MessageWithAttachments(role, content, at, calls, attachments)
    return MessageHistory(role, content, at, calls)
