"""A stranger's project on a user's machine, and the command in it, in a process of its own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from canary import lookout
from cli.command import PATIENCE, environment


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
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "maverick", *words),
            cwd=self.project,
            env=environment(self.home, **self.env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate(said)
        lookout.look("the output of a command", (out, err))
        return subprocess.CompletedProcess(words, process.returncode or 0, out.decode(), err.decode())


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(text).lstrip(), encoding="utf-8")
    return file
