"""What commands print: tables that fit the terminal, and JSON for programs that is safe to show in any terminal."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from maverick.journal.codec import encode_json
from maverick.loop import AgentResult
from maverick.loop.events import AgentActivityEvent, RunEnd
from maverick.tui.plain_text import one_line

_GAP = "  "
_NARROWEST = 4
_ANY_WIDTH = 10_000
_NOT_PLAIN = r"[^\x20-\x7e]"


class Column(Struct, frozen=True):
    """A column of a table."""

    title: str
    right: bool = False
    """Whether its cells end, rather than begin, at the same place, as figures do."""
    shrinks: bool = False
    """Whether it is cut off first when the table is too wide."""


def columns_of(*titles: str) -> tuple[Column, ...]:
    """Columns by their titles: ``>`` before one aligns it right, ``…`` after it has it cut off first."""
    return tuple(
        Column(title.strip(">…"), right=title.startswith(">"), shrinks=title.endswith("…"))
        for title in titles
    )


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """A table as wide as the terminal; in a pipe, where nothing is cut off, as wide as it gets."""
    lines = lay_out(columns, rows, terminal_width() if is_fitted() else _ANY_WIDTH)
    return "".join(f"{line}\n" for line in lines)


def is_fitted() -> bool:
    """Whether tables are made to fit a terminal, where they are for a person to read."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def lay_out(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """The lines of a table, its titles first, none wider than ``width``; a cell keeps the spaces it begins with."""
    lines = [[column.title for column in columns], *([_cell(text, width) for text in row] for row in rows)]
    widths = [max(map(width_of, cells)) for cells in zip(*lines, strict=True)]
    widths = _shrunk(widths, columns, width)
    for cells in lines:
        padded = (
            _padded(cell, size, right=column.right)
            for cell, size, column in zip(cells, widths, columns, strict=True)
        )
        yield fitted(_GAP.join(padded).rstrip(), width)


def terminal_width() -> int:
    """How many characters a line of the terminal has."""
    return shutil.get_terminal_size((80, 24)).columns


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_width_of_character, text))


def fitted(text: str, width: int) -> str:
    """The text, cut off where it would take more columns than there are."""
    taken = kept = 0
    for at, character in enumerate(text):
        taken += _width_of_character(character)
        if taken < width:
            kept = at + 1
        elif taken > width:
            return f"{text[:kept]}…"
    return text


def _shrunk(widths: list[int], columns: Sequence[Column], width: int) -> list[int]:
    """The widths, with the widest columns made narrower until the table fits: those first that may well be."""
    widths, room = [*widths], width - len(_GAP) * (len(columns) - 1)
    first = [index for index, column in enumerate(columns) if column.shrinks]
    for group in (first, range(len(columns))):
        while sum(widths) > room and group:
            widest = max(group, key=widths.__getitem__)
            if widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
    return widths


def _padded(cell: str, size: int, *, right: bool) -> str:
    cell = fitted(cell, size)
    space = " " * (size - width_of(cell))
    return space + cell if right else cell + space


def _cell(text: str, width: int) -> str:
    indent = text[: len(text) - len(text.lstrip(" "))]
    return fitted(indent + one_line(text), width)


def _width_of_character(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def json_text(value: object) -> str:
    """A value as JSON on one line.

    It has only printable ASCII characters, the others as escapes: so it is the same in every encoding, and nothing in
    it reaches a terminal as a control character.
    """
    return plain_json(encode_json(value))


def plain_json(encoded: bytes) -> str:
    """The same JSON with only printable ASCII characters; of bytes that are damaged, what can be read."""
    return re.sub(_NOT_PLAIN, _escaped, encoded.decode(errors="replace").rstrip("\n"))


def event_fields(event: AgentActivityEvent) -> dict[str, Any]:
    """An event with its type."""
    fields = {"type": event.type, **structs.asdict(event)}
    return fields | {"result": result_fields(event.result)} if isinstance(event, RunEnd) else fields


def result_fields(result: AgentResult[Any]) -> dict[str, Any]:
    """What can be said of a result in JSON, whatever the type of its output."""
    return {
        "success": result.success,
        "content": result.raw_content,
        "terminate_reason": result.terminate_reason,
        "errors": [str(error) for error in result.errors],
        "turn_count": result.turn_count,
        "tool_calls": result.tool_calls,
        "usage": result.usage,
    }


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
