"""Text from models and tools, made harmless: nothing of it may move the cursor, hide, or turn round what is shown."""

from __future__ import annotations

import re

_HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TAB = "    "


def printable(text: str) -> str:
    """The text without control characters, lines and tabs aside. It may be given piece by piece."""
    return _HARMFUL.sub("", text)


def plain(text: str) -> str:
    """The text for a screen that is drawn cell by cell: printable Unicode, with spaces for tabs."""
    return _SURROGATE.sub("\ufffd", printable(text)).replace("\t", _TAB)


def one_line(text: str) -> str:
    """The text on one line: a space in place of each line break, tab or other gap."""
    return plain(" ".join(text.split()))
