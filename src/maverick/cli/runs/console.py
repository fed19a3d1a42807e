"""What every ``maverick runs`` command works with: the journal, the screen, and how its output is wanted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct

from maverick.cli.formatting import Column, lay_out, table_width, terminal_width
from maverick.cli.json_text import json_text
from maverick.cli.screen import Screen, printable
from maverick.journal import Journal


class Console(Struct, frozen=True):
    """The surroundings of one command."""

    journal: Journal
    screen: Screen
    as_json: bool = False
    """Whether another program reads the output."""
    named_journal: str | None = None
    """The journal as the person named it, if they did."""

    @property
    def width(self) -> int:
        """How many characters a line of the terminal has."""
        return terminal_width()

    def write(self, value: object) -> None:
        """Write a value as a line of JSON."""
        self.screen.say(f"{json_text(value)}\n")

    def say(self, lines: Iterable[str]) -> None:
        """Write lines of text."""
        self.screen.say("".join(f"{line}\n" for line in lines))

    def tabulate(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        """Write a table as wide as the terminal; in a pipe, nothing is cut off."""
        self.say(lay_out(columns, rows, table_width()))

    def command(self, *words: str) -> str:
        """The command to type for something else to do with the same journal."""
        where: tuple[str, ...] = ()
        if self.named_journal is not None:
            # An address may have a password in it, which is not to be shown.
            where = ("--journal", "…" if "://" in self.named_journal else self.named_journal)
        return printable(shlex.join(("maverick", "runs", *words, *where)))
