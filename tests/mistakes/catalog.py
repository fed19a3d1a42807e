"""Mistakes as a newcomer makes them: each is a function, and what the words it is met with have to say."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Snippet: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Mistake:
    """A mistake, and the words that must be in what is said about it: of the cause, and of the way out."""

    make: Snippet
    says: tuple[str, ...]
    log: bool = False
    """Whether it is said in the log, since nothing fails."""

    async def __call__(self, folder: Path) -> object:
        """Make it, in an empty folder. It raises, or returns what the user or the model gets to read."""
        made = self.make(folder) if inspect.signature(self.make).parameters else self.make()
        return await made if inspect.isawaitable(made) else made


MISTAKES: dict[str, Mistake] = {}


def mistake(*says: str, log: bool = False) -> Callable[[Snippet], Snippet]:
    """Add a mistake to the catalog; its error has to contain these words."""

    def add(make: Snippet) -> Snippet:
        assert make.__name__ not in MISTAKES
        MISTAKES[make.__name__] = Mistake(make, says, log=log)
        return make

    return add
