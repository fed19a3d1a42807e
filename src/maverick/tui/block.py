"""What a conversation is made of on the screen, from top to bottom: one block per thing that was said or done."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from maverick.loop.result import ToolOutcome


class Speaker(StrEnum):
    """Whose words they are."""

    USER = "user"
    ANSWER = "answer"
    THOUGHT = "thought"


class Tone(StrEnum):
    """How a remark is meant."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    ASKING = "asking"


class ToolState(StrEnum):
    """How far a tool call is."""

    ASKED = "asked"
    """It waits for a person's decision."""
    RUNNING = "running"
    OVER = "over"


@dataclass(slots=True, kw_only=True)
class Block:
    """Something that is shown."""

    run_id: str
    """The run it belongs to; a subagent's blocks belong to the run that was started."""
    turn: int
    """The turn of that run; 0 is before the first."""
    depth: int = 0
    """How many agents deep it was said or done."""
    revision: int = 0
    """Goes up with every change."""

    @property
    def text(self) -> str:
        """All there is to read in it."""
        raise NotImplementedError


@dataclass(slots=True, kw_only=True)
class Words(Block):
    """What somebody said, as it comes."""

    speaker: Speaker
    pieces: list[str] = field(default_factory=list)
    """In the order they came; none is ever changed."""
    is_whole: bool = False
    """Whether all is said."""

    def say(self, text: str) -> None:
        """Add some more."""
        self.pieces.append(text)
        self.revision += 1

    def end(self) -> None:
        """Note that all is said."""
        self.is_whole = True
        self.revision += 1

    @property
    def text(self) -> str:
        """All that was said, exactly."""
        return "".join(self.pieces)


@dataclass(slots=True, kw_only=True)
class ToolUse(Block):
    """A tool call: what was asked for, and what came of it."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    state: ToolState = ToolState.RUNNING
    question: str = ""
    """Why a person is asked, if there is more to say than that the tool wants it."""
    said: str = ""
    """The last of what it says while it runs."""
    decision: str = ""
    """What a person decided on it, if one was asked."""
    result: str = ""
    outcome: ToolOutcome | None = None
    duration_ms: int = 0
    folded: bool = True

    @property
    def is_failure(self) -> bool:
        """Whether the tool did not do what was asked."""
        return self.outcome not in (None, ToolOutcome.FINISHED)

    @property
    def text(self) -> str:
        """The call and its result."""
        arguments = "\n".join(f"{key}: {value}" for key, value in self.arguments.items())
        return f"{self.name}\n{arguments}\n{self.result}"


@dataclass(slots=True, kw_only=True)
class Remark(Block):
    """A line about what is going on."""

    words: str
    tone: Tone = Tone.PLAIN

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
