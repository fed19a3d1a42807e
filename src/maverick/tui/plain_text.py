"""Text from models and tools, made harmless: nothing of it may move the cursor, hide, or turn round what is shown."""

from __future__ import annotations

import re

_CONTROLS = (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))
_DIRECTIONS = (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_HARMFUL = dict.fromkeys((*_CONTROLS, *_DIRECTIONS))
_SURROGATE = r"[\ud800-\udfff]"
_TAB = "    "


def printable(text: str) -> str:
    """The text without control characters, lines and tabs aside. It may be given piece by piece."""
    return text.translate(_HARMFUL)


def plain(text: str) -> str:
    """The text for a screen that is drawn cell by cell: printable Unicode, with spaces for tabs."""
    return re.sub(_SURROGATE, "\ufffd", printable(text)).replace("\t", _TAB)


def one_line(text: str) -> str:
    """The text on one line: a space in place of each line break, tab or other gap."""
    return plain(" ".join(text.split()))
