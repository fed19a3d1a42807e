"""Finds lines in files; a program of its own, started by ``search.py`` where ripgrep is not installed.

It speaks as ``rg --null --line-number`` does: the file's name, a NUL character, the line's number, a colon, the line.
"""

from __future__ import annotations

import re
import sys

_FOUND, _NOTHING, _FAILED = 0, 1, 2


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
            content = file.read()
        if b"\0" in content[:8192]:
            continue  # it is no text
        for number, line in enumerate(content.split(b"\n"), 1):
            if wanted.search(line):
                sys.stdout.buffer.write(b"%s\0%d:%s\n" % (name.encode(), number, line.rstrip(b"\r")))
                code = _FOUND
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
