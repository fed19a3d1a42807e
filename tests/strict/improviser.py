"""What a model might answer, drawn from a seed: thoughts, words, tool calls, searches with sources, pauses.

The moves are the same for every vendor; each service says them in its own blocks. Every text is said only once, so that
a block that comes back is known by what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from random import Random
from typing import Any


class Kind(StrEnum):
    """What a model does."""

    THINK = "think"
    THINK_HIDDEN = "think hidden"
    SAY = "say"
    CITE = "cite"
    CALL = "call"
    SEARCH = "search"


class Ending(StrEnum):
    """Why it stops."""

    DONE = "done"
    TOOLS = "tools"
    PAUSE = "pause"


@dataclass(frozen=True)
class Move:
    """One thing that a model does in its answer."""

    kind: Kind
    text: str = ""
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    number: int = 0
    """Its own, for ids."""


@dataclass(frozen=True)
class Plan:
    """An answer."""

    moves: Sequence[Move]
    ending: Ending = Ending.DONE


class Improviser:
    """Answers at random, yet always as a model could.

    Args:
        seed: Decides everything.
        turns: About how many answers it gives before it is done.
        first: The number of its first move; two that speak in one run have to have numbers of their own.
        ends: Whether it is ever done before its turns are up.
    """

    def __init__(self, seed: int, *, turns: int = 12, first: int = 1, ends: bool = True) -> None:
        self._rng = Random(seed)
        self._turns = turns
        self._ends = ends
        self._numbers = count(first)
        self._paused = False
        self.answers = 0
        """How many it gave."""

    def answer(self, tools: Sequence[str], *, searches: bool, hidden: bool = True) -> Plan:
        """The next answer, with these tools of the client's, and with web search or without."""
        rng, moves = self._rng, []
        self.answers += 1
        if rng.random() < 0.7:
            moves.append(
                self._move(Kind.THINK, "" if rng.random() < 0.3 else "I wonder. " * rng.randint(1, 5))
            )
            if hidden and rng.random() < 0.15:
                moves.append(self._move(Kind.THINK_HIDDEN))
        if searches and rng.random() < 0.4:
            moves += [self._move(Kind.SEARCH, "tides") for _ in range(rng.randint(1, 2))]
            if rng.random() < 0.3 and not self._paused:
                self._paused = True
                return Plan(moves, Ending.PAUSE)
            moves.append(self._move(Kind.CITE, "According to a page, "))
        self._paused = False
        if tools and self.answers % self._turns and (rng.random() < 0.9 or not self._ends):
            if rng.random() < 0.4:
                moves.append(self._move(Kind.SAY))
            moves += [self._call(rng.choice(tools)) for _ in range(rng.choice((1, 1, 2, 4)))]
            return Plan(moves, Ending.TOOLS)
        return Plan([*moves, self._move(Kind.SAY, "The answer is ready. ")])

    def _call(self, tool: str) -> Move:
        arguments = {"page": self._rng.randint(1, 99), "note": f'你好 "{self._rng.random():.3f}" \\ 🌍'}
        return Move(Kind.CALL, tool=tool, arguments=arguments, number=next(self._numbers))

    def _move(self, kind: Kind, text: str = "Well. ") -> Move:
        number = next(self._numbers)
        return Move(kind, f"{text}({number})" if text else "", number=number)
