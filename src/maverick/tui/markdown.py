"""Markdown on the screen: headings, lists, quotes, code and tables as lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from markdown_it.tree import SyntaxTreeNode

from maverick.tui.code_lines import code_lines
from maverick.tui.inline_markdown import inline_lines
from maverick.tui.line import Ink, Line, Span
from maverick.tui.markdown_tokens import markdown_tokens
from maverick.tui.table_lines import table_lines
from maverick.tui.wrapping import wrapped, wrapped_line

_NARROWEST = 12
"""Cells of a line that are not made fewer by indenting."""
_CONTAINERS = {"bullet_list", "ordered_list", "list_item", "blockquote"}


def markdown_lines(text: str, width: int) -> Iterator[Line]:
    """The lines of a Markdown text; one that is JSON is shown as that, and one that is too long as it was written.

    Args:
        text: The text, harmless to show.
        width: How many cells a line has.
    """
    tokens = markdown_tokens(text)
    if not tokens:
        yield from (Line((Span(line, Ink.ANSWER),)) for line in wrapped(text.strip("\n"), width))
    elif _is_json(text):
        yield from code_lines(text.strip(), "json", width)
    else:
        yield from _blocks(SyntaxTreeNode(tokens).children, width)


def _is_json(text: str) -> bool:
    """Whether a text is an object or a list in JSON, as the answers of agents with a declared output are."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _blocks(nodes: Iterable[SyntaxTreeNode], width: int) -> Iterator[Line]:
    """The lines of several blocks, with a blank line wherever one was written."""
    before: SyntaxTreeNode | None = None
    for node in nodes:
        if before is not None and _begin(node) > _end(before):
            yield Line()
        yield from _block(node, width)
        before = node


def _begin(node: SyntaxTreeNode) -> int:
    return node.map[0] if node.map else 0


def _end(node: SyntaxTreeNode) -> int:
    """The line after the last one of a block; those around others count blank lines after them as their own."""
    while node.type in _CONTAINERS and node.children:
        node = node.children[-1]
    return node.map[1] if node.map else 0


def _block(node: SyntaxTreeNode, width: int) -> Iterator[Line]:
    match node.type:
        case "heading":
            ink = Ink.TITLE if node.tag == "h1" else Ink.HEADING
            yield from _wrapped(inline_lines(node, ink), width)
        case "fence" | "code_block":
            language = node.info.split(maxsplit=1)[0] if node.info.strip() else ""
            lines = code_lines(node.content, language, _inner(width, "  "))
            yield from _inset(lines, "  ", "  ", width)
        case "bullet_list" | "ordered_list":
            yield from _blocks(node.children, width)
        case "list_item":
            yield from _item(node, width)
        case "blockquote":
            yield from _inset(_blocks(node.children, _inner(width, "│ ")), "│ ", "│ ", width)
        case "table":
            yield from _table(node, width)
        case "hr":
            yield Line((Span("─" * width, Ink.FAINT),))
        case _:
            yield from _wrapped(inline_lines(node, Ink.ANSWER), width)


def _item(node: SyntaxTreeNode, width: int) -> Iterator[Line]:
    mark = f"{node.info}. " if node.info else "• "
    yield from _inset(_blocks(node.children, _inner(width, mark)), mark, " " * len(mark), width)


def _table(node: SyntaxTreeNode, width: int) -> Iterator[Line]:
    rows = [
        [_cell(cell, Ink.STRONG if part.type == "thead" else Ink.ANSWER) for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    head = node.children[0].children[0].children
    to_right = ["right" in str(cell.attrs.get("style", "")) for cell in head]
    yield from table_lines(rows, to_right, width)


def _cell(node: SyntaxTreeNode, ink: Ink) -> Line:
    return Line(tuple(span for line in inline_lines(node, ink) for span in line.spans))


def _wrapped(lines: Iterable[Line], width: int) -> Iterator[Line]:
    for line in lines:
        yield from wrapped_line(line, width)


def _inner(width: int, mark: str) -> int:
    """The room that is left beside a mark; where there is hardly any, the mark is left out."""
    return width - len(mark) if width >= _NARROWEST else width


def _inset(lines: Iterable[Line], first: str, others: str, width: int) -> Iterator[Line]:
    """Lines with a mark before them; where there are none, the mark is there all the same."""
    for index, line in enumerate(list(lines) or [Line()]):
        mark = others if index else first
        yield Line((Span(mark, Ink.FAINT), *line.spans)) if width >= _NARROWEST else line
