"""What the chat agent gives back: its answer, and what it did for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
    """Whether the agent came to an answer."""
    response: str
    """The answer, in words for the user."""
    tool_calls: Sequence[ToolCallRecord]
    """The tools it called, in order."""
    error: str | None = None
    """What went wrong, in words for the user."""

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
