"""Markdown read into tokens, with bounds on the work and on the depth: whoever wrote it may mean harm."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

LONGEST = 10_000
"""Characters of a text that is read as Markdown: a longer one would make the screen halt."""
_DEEPEST = 20
"""Lists in lists, quotes in quotes and words in emphasis that are shown as such."""
_MOST_NESTING = 5 * _DEEPEST
"""The same for the parser, which counts a list in a list several times, and looks into no more brackets in brackets."""
_MOST_WORK = 20_000
"""Looks at a mark, in search of the ends of links, that a text may take: less than a tenth of a second."""
_MOST_CELLS = 5_000
"""Cells of a table that is shown as one: twice as many as can have anything in them."""


def markdown_tokens(text: str) -> list[Token]:
    """The tokens of a Markdown text; none if it is too long, or nested too deep, to be shown as one."""
    if len(text) > LONGEST:
        return []
    tokens = _parser(tables=_cells(text) <= _MOST_CELLS).parse(text)
    return [] if _is_deep(tokens) else tokens


@cache
def _parser(*, tables: bool) -> MarkdownIt:
    """Reads Markdown without what would leave out or replace some of the text: HTML, entities, references."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MOST_NESTING})
    parser.core.ruler.at("inline", _read_paragraphs)
    parser.enable(["strikethrough", "table"] if tables else ["strikethrough"])
    # An underlined line is not taken for a heading: models write --- for a rule, with or without a line before it.
    return parser.disable(["entity", "reference", "lheading"])


@cache
def _line_parser() -> MarkdownIt:
    """Reads nothing but where lines end."""
    return MarkdownIt("zero").enable("newline")


def _read_paragraphs(state: StateCore) -> None:
    """Read what is in each paragraph; once that has been too much work, the rest stays as it was written."""
    work = 0
    for token in state.tokens:
        if token.type == "inline":
            work += _work(token.content, state.md)
            reader = state.md if work <= _MOST_WORK else _line_parser()
            token.children = []
            reader.inline.parse(token.content, reader, state.env, token.children)


def _work(paragraph: str, parser: MarkdownIt) -> int:
    """The most looks it can take: from each bracket that is not closed, all marks are gone through up to the end."""
    brackets = min(paragraph.count("["), _MOST_NESTING)
    return brackets * len(parser.inline.terminator_re.findall(paragraph)) if brackets else 0


def _cells(text: str) -> int:
    """The most cells that a table in a text can have: each row gets as many as the first, whatever is in it."""
    lines = text.split("\n")
    return len(lines) * max(line.count("|") for line in lines)


def _is_deep(tokens: Iterable[Token], deepest: int = _DEEPEST) -> bool:
    return any(token.level > deepest or _is_deep(token.children or (), deepest - 1) for token in tokens)
