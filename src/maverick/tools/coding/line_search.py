"""Finds lines in files; a program of its own, started by ``search.py`` where ripgrep is not installed.

It speaks as ``rg --null --line-number`` does: the file's name, a NUL character, the line's number, a colon, the line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from io import BufferedReader

_FOUND, _NOTHING, _FAILED = 0, 1, 2
_SEARCHED = 1_000_000
"""Bytes of a line that are searched; what comes after them is passed over."""
_SHOWN = 2_000
"""Bytes of a line that are written."""


def main(arguments: list[str]) -> int:
    """Search; the arguments are ``[--ignore-case] -- pattern file…``."""
    pattern, *files = arguments[arguments.index("--") + 1 :]
    try:
        wanted = re.compile(pattern.encode(), re.IGNORECASE if "--ignore-case" in arguments else 0)
    except re.error as error:
        sys.stdout.write(f"{error}.\n")
        return _FAILED
    code = _NOTHING
    for name in files:
        with open(name, "rb") as file:  # noqa: PTH123 - this program starts with every search, so it loads little
            if b"\0" in file.peek():
                continue  # it is not text
            for number, line in _lines(file):
                if wanted.search(line):
                    sys.stdout.buffer.write(
                        b"%s\0%d:%s\n" % (name.encode(), number, line[:_SHOWN].rstrip(b"\r"))
                    )
                    code = _FOUND
    return code


def _lines(file: BufferedReader) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, never more of it in memory than one of them."""
    number, begins = 0, True
    while piece := file.readline(_SEARCHED):
        if begins:
            number += 1
            yield number, piece.removesuffix(b"\n")
        begins = piece.endswith(b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
