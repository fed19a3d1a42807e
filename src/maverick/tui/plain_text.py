"""Text from models and tools, made harmless: nothing of it may move the cursor, hide, or turn round what is shown."""

from __future__ import annotations

import re

_HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TAB = "    "


def plain(text: str) -> str:
    """The text to read: without control characters, with spaces for tabs. It may be given piece by piece."""
    return _SURROGATE.sub("\ufffd", _HARMFUL.sub("", text)).replace("\t", _TAB)


def one_line(text: str) -> str:
    """The text with single spaces in place of line breaks and other gaps."""
    return " ".join(plain(text).split())
