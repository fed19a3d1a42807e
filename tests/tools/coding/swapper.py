"""Puts links in place of a folder and a file, and back, as fast as it can, until its input ends.

A program of its own, so that it really runs while the tools do. It is given the workspace and what is outside of it.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def main(root: Path, outside: Path) -> None:
    folder, away, file = root / "dir", root / "dir.real", root / "file.txt"
    link, plain = root / "link.tmp", root / "plain.tmp"
    round_: list[Callable[[], object]] = [
        lambda: folder.rename(away),
        lambda: folder.symlink_to(outside),
        lambda: link.symlink_to(outside / "secret.txt"),
        lambda: link.replace(file),
        folder.unlink,
        lambda: away.rename(folder),
        lambda: plain.write_text("plain\n", encoding="utf-8"),
        lambda: plain.replace(file),
    ]
    while not select.select([sys.stdin], [], [], 0)[0]:
        for swap in round_:
            with suppress(OSError):
                swap()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
