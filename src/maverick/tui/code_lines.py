"""Code on the screen: its words in the inks of what they are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped] # it comes with Textual, without types
from pygments.token import Token  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from maverick.tui.line import Ink, Line, Span
from maverick.tui.wrapping import wrapped_line

_LONGEST_LINE = 400
"""Characters of a line in code that is coloured: most of what takes a lexer long is on one line. Not so for JSON, which
programs write on one line, and whose lexer looks at each character once."""
_PATIENCE = 0.25
"""Seconds of CPU that colours may take; a page of code takes a tenth of that. Many lexers are quadratic at their worst."""
_INKS = {
    Token: Ink.PLAIN,
    Token.Comment: Ink.COMMENT,
    Token.Generic.Deleted: Ink.REMOVED,
    Token.Generic.Heading: Ink.HUNK,
    Token.Generic.Inserted: Ink.ADDED,
    Token.Generic.Subheading: Ink.HUNK,
    Token.Keyword: Ink.KEYWORD,
    Token.Literal.Number: Ink.NUMBER,
    Token.Literal.String: Ink.STRING,
    Token.Name.Class: Ink.NAME,
    Token.Name.Decorator: Ink.NAME,
    Token.Name.Function: Ink.NAME,
    Token.Name.Tag: Ink.NAME,
    Token.Operator.Word: Ink.KEYWORD,
}


def code_lines(code: str, language: str, width: int) -> Iterator[Line]:
    """The lines of a piece of code.

    Args:
        code: The code, harmless to show.
        language: What it is written in, if known.
        width: How many cells a line has.
    """
    row: list[Span] = []
    for text, ink in _coloured(code.rstrip("\n") + "\n", language):
        first, *others = text.split("\n")
        row.append(Span(first, ink))
        for other in others:
            yield from wrapped_line(Line(tuple(row)), width)
            row = [Span(other, ink)]


def _coloured(code: str, language: str) -> Iterator[Span]:
    """Code in its colours, or without them from where they would take too long."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        lexer = None
    if lexer is None or (language != "json" and max(map(len, code.split("\n"))) > _LONGEST_LINE):
        yield Span(code, Ink.CODE)
        return
    began = time.thread_time()
    for at, kind, text in lexer.get_tokens_unprocessed(code):
        if time.thread_time() - began > _PATIENCE:
            yield Span(code[at:], Ink.CODE)
            return
        yield Span(text, _ink(kind))


def _ink(kind: Any) -> Ink:  # noqa: ANN401 - Pygments has no types
    while kind not in _INKS:
        kind = kind.parent
    return _INKS[kind]
