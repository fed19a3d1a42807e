"""A line of the screen: pieces of text, each in the ink that says what it is."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Ink(StrEnum):
    """What a piece of text is; how that looks is up to whoever draws it."""

    ANSWER = "answer"
    THOUGHT = "thought"
    USER = "user"
    TOOL = "tool"
    FAINT = "faint"
    GOOD = "good"
    BAD = "bad"
    ASKING = "asking"
    ADDED = "added"
    REMOVED = "removed"
    HUNK = "hunk"
    PLAIN = "plain"
    TITLE = "title"
    HEADING = "heading"
    STRONG = "strong"
    EMPHASIS = "emphasis"
    STRUCK = "struck"
    LINK = "link"
    CODE = "code"
    COMMENT = "comment"
    KEYWORD = "keyword"
    NAME = "name"
    NUMBER = "number"
    STRING = "string"


class Span(NamedTuple):
    """A piece of text in one ink."""

    text: str
    ink: Ink


class Line(NamedTuple):
    """A line."""

    spans: tuple[Span, ...] = ()

    @property
    def text(self) -> str:
        """The line without its inks."""
        return "".join(span.text for span in self.spans)

    def indented(self, indent: str) -> Line:
        """The line further to the right."""
        return Line((Span(indent, Ink.PLAIN), *self.spans)) if indent else self
