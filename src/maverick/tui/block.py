"""The blocks of a conversation on the screen: messages, tool calls, remarks and turns."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from maverick.loop.result import ToolOutcome

HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", re.MULTILINE)
"""The head of a hunk in a unified diff."""


class Speaker(StrEnum):
    """Who wrote a message."""

    USER = "user"
    ANSWER = "answer"
    THOUGHT = "thought"


class LineStyle(StrEnum):
    """The styles of lines; those of Markdown have Rich's names."""

    PLAIN = ""
    USER = "user"
    THINKING = "thinking"
    TOOL = "tool"
    DIM = "dim"
    GOOD = "good"
    BAD = "bad"
    ASKING = "asking"
    ADDED = "added"
    REMOVED = "removed"
    HUNK = "hunk"


class ToolState(StrEnum):
    """The state of a tool call."""

    ASKED = "asked"
    """It waits for approval."""
    RUNNING = "running"
    OVER = "over"


@dataclass(slots=True, kw_only=True)
class Block(ABC):
    """A block of a conversation."""

    run_id: str
    """The run it belongs to; a subagent's blocks belong to the run that was started."""
    turn: int
    """The turn of that run; 0 is before the first."""
    depth: int = 0
    """How many agents deep: 0 for the agent, 1 for its subagents."""
    revision: int = 0
    """Goes up with every change."""

    @property
    @abstractmethod
    def text(self) -> str:
        """Its text, for search and copying."""


@dataclass(slots=True, kw_only=True)
class Words(Block):
    """A message, as it is streamed."""

    speaker: Speaker
    pieces: list[str] = field(default_factory=list)
    """In the order they came; a piece is never changed."""
    is_whole: bool = False
    """Whether it is complete."""

    def say(self, text: str) -> None:
        """Add a piece."""
        self.pieces.append(text)
        self.revision += 1

    def end(self) -> None:
        """Note that it is complete."""
        self.is_whole = True
        self.revision += 1

    @property
    def text(self) -> str:
        """The text as it was sent."""
        return "".join(self.pieces)


@dataclass(slots=True, kw_only=True)
class ToolUse(Block):
    """A tool call and its result."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    state: ToolState = ToolState.RUNNING
    question: str = ""
    """Why approval is needed, unless the tool always needs it."""
    output: str = ""
    """The end of its output while it runs."""
    decision: str = ""
    """The user's decision, if approval was needed."""
    result: str = ""
    outcome: ToolOutcome | None = None
    duration_ms: int = 0
    folded: bool = True

    @property
    def is_failure(self) -> bool:
        """Whether the call did not finish."""
        return self.outcome not in (None, ToolOutcome.FINISHED)

    @property
    def has_diff(self) -> bool:
        """Whether its result has a unified diff in it."""
        return "@@ -" in self.result and HUNK.search(self.result) is not None

    @property
    def text(self) -> str:
        """The call and its result."""
        arguments = "\n".join(f"{key}: {value}" for key, value in self.arguments.items())
        return f"{self.name}\n{arguments}\n{self.result}"


@dataclass(slots=True, kw_only=True)
class Remark(Block):
    """A line about the run."""

    words: str
    style: LineStyle = LineStyle.DIM

    @property
    def text(self) -> str:
        """The remark."""
        return self.words


@dataclass(slots=True, kw_only=True)
class TurnMark(Block):
    """Where a turn begins."""

    @property
    def text(self) -> str:
        """Which turn it is."""
        return f"turn {self.turn}"
