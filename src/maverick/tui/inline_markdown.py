"""The Markdown within a paragraph: which words are strong, code, or a link."""

from __future__ import annotations

from collections.abc import Iterable

from markdown_it.tree import SyntaxTreeNode

from maverick.tui.line import Ink, Line, Span
from maverick.tui.plain_text import plain

_INKS = {"strong": Ink.STRONG, "em": Ink.EMPHASIS, "s": Ink.STRUCK, "link": Ink.LINK, "image": Ink.LINK}


def inline_lines(node: SyntaxTreeNode, ink: Ink) -> list[Line]:
    """The lines of a paragraph, a heading or a cell, as they were written.

    Args:
        node: What has the text in it.
        ink: The ink of words that nothing is said about.
    """
    rows: list[list[Span]] = [[]]
    for inline in node.children:
        _write(inline.children, ink, rows)
    return [Line(tuple(row)) for row in rows]


def _write(nodes: Iterable[SyntaxTreeNode], ink: Ink, rows: list[list[Span]]) -> None:
    for node in nodes:
        if node.type in ("softbreak", "hardbreak"):
            rows.append([])
        elif node.type in _INKS:
            # Underscores are more often part of a name, such as __init__, than meant to be left out.
            mark = node.markup if node.markup.startswith("_") else ""
            inner = _INKS[node.type]
            rows[-1].append(Span(mark, inner))
            _write(node.children, inner, rows)
            rows[-1].append(Span(mark, inner))
            _write_address(node, rows)
        else:
            rows[-1].append(Span(plain(node.content), Ink.CODE if node.type == "code_inline" else ink))


def _write_address(node: SyntaxTreeNode, rows: list[list[Span]]) -> None:
    """Say where a link leads, unless it says so itself."""
    address = str(node.attrs.get("href") or node.attrs.get("src") or "")
    if address and node.markup != "autolink" and address != "".join(child.content for child in node.children):
        rows[-1].append(Span(f" ({plain(address)})", Ink.FAINT))
