"""A stranger's project on a user's machine, and the command in it, in a process of its own."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from textwrap import dedent

from cli.command import run


class Machine:
    """A user's home, and beside it the folder of a project that somebody else has written."""

    def __init__(self, at: Path) -> None:
        self.home, self.project = at / "home", at / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.env: dict[str, str] = {}

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        return _write(self.project / name, text)

    def write_own(self, name: str, text: str) -> Path:
        """Write a file of the user's own folder."""
        return _write(self.home / ".maverick" / name, text)

    async def maverick(self, *words: str, said: bytes = b"") -> subprocess.CompletedProcess[str]:
        """Run the command in the project, with nobody at a terminal."""
        return await asyncio.to_thread(
            run, *words, home=self.home, folder=self.project, said=said, env=self.env
        )


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text).lstrip(), encoding="utf-8")
    return file
