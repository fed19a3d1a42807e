"""All that can be written after ``maverick``, read from its parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from maverick.cli.main import command_parser
from maverick.cli.parser import CommandParser


@dataclass(frozen=True, slots=True)
class Word:
    """A word that may follow."""

    text: str
    description: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a command line one can be, and what may follow there."""

    path: str
    """The commands so far, such as ``maverick runs list``."""
    commands: tuple[Word, ...]
    options: tuple[Word, ...]
    names_agent: bool
    """Whether an agent is named there."""


def all_places() -> list[Place]:
    """Every place there is, the outermost first."""
    return list(_places(command_parser(), "maverick"))


def _places(parser: CommandParser, path: str) -> Iterator[Place]:
    # argparse has no public way to read a parser; these names have been there since it was written.
    actions = parser.filled()._actions  # noqa: SLF001
    inner = [action for action in actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001
    yield Place(
        path,
        tuple(Word(help_.dest, help_.help or "") for action in inner for help_ in action._choices_actions),  # noqa: SLF001
        tuple(
            Word(option, action.help or "")
            for action in actions
            for option in action.option_strings
            if option.startswith("--")
        )
        + tuple(
            Word(choice, "")
            for action in actions
            if not action.option_strings and action not in inner
            for choice in action.choices or ()
        ),
        any(action.dest == "agent" for action in actions),
    )
    for action in inner:
        for name, command in action.choices.items():
            yield from _places(command, f"{path} {name}")
