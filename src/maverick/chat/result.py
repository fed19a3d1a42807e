"""What the chat agent gives back: its answer, and what it did for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maverick.chat import phrases
from maverick.exceptions import TimeoutError


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
    """The result of one invocation."""

    success: bool
    """Whether the agent did what it was asked, or asks whether to go ahead."""
    response: str
    """The answer, in words for the user."""
    tool_calls: list[ToolCallRecord]
    """The tools it called, in order."""
    error: str | None = None
    """What went wrong, in words for the user."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_calls", list(self.tool_calls))

    @property
    def is_answer(self) -> bool:
        """Whether the conversation goes on from it: also when a task was not found, say, but not when something broke."""
        return not any(words in (self.error or "") for words in phrases.BREAKDOWNS)

    @property
    def has_tool_calls(self) -> bool:
        """Whether the agent called any tool."""
        return len(self.tool_calls) > 0


class AnswerTimeoutError(TimeoutError):
    """An answer took longer than it may; ``result`` is what there is of it.

    Args:
        message: What happened and what to do next.
        result: The tools that were called until then, and what they did in words for the user.
    """

    def __init__(self, message: str, result: AgentResult, **details: Any) -> None:
        super().__init__(message, **details)
        self.result = result
