"""A table on the screen: columns as wide as they need to be, or as there is room for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len

from maverick.tui.line import Ink, Line, Span
from maverick.tui.wrapping import wrapped_line

_GAP = " │ "
_CROSSING = "─┼─"
_NARROWEST = 3


def table_lines(rows: Sequence[Sequence[Line]], to_right: Sequence[bool], width: int) -> Iterator[Line]:
    """The lines of a table.

    Args:
        rows: Its cells, row by row; the first row is its head.
        to_right: For each column, whether it is aligned to the right.
        width: How many cells of the screen a line has.
    """
    widths = _column_widths(rows, width)
    if widths is None:
        for row in rows:
            yield from wrapped_line(_joined(row), width)
        return
    for number, row in enumerate(rows):
        broken = [list(wrapped_line(cell, size)) for cell, size in zip(row, widths, strict=True)]
        for cells in zip_longest(*broken, fillvalue=Line()):
            yield _joined(
                [
                    _padded(cell, size, right)
                    for cell, size, right in zip(cells, widths, to_right, strict=True)
                ]
            )
        if number == 0:
            yield Line((Span(_CROSSING.join("─" * size for size in widths), Ink.FAINT),))


def _column_widths(rows: Sequence[Sequence[Line]], width: int) -> list[int] | None:
    """How wide each column is; nothing if there is no room for so many."""
    room = width - len(_GAP) * (len(rows[0]) - 1)
    if room < _NARROWEST * len(rows[0]):
        return None
    wanted = (max(cell_len(cell.text) for cell in column) for column in zip(*rows, strict=True))
    widths = [min(max(size, 1), room) for size in wanted]
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    return widths


def _padded(cell: Line, width: int, right: bool) -> Line:
    gap = Span(" " * max(width - cell_len(cell.text), 0), Ink.PLAIN)
    return Line((gap, *cell.spans) if right else (*cell.spans, gap))


def _joined(cells: Sequence[Line]) -> Line:
    first, *others = cells
    spans = list(first.spans)
    for cell in others:
        spans += [Span(_GAP, Ink.FAINT), *cell.spans]
    return Line(tuple(spans))
