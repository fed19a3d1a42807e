"""A folder of a person who uses ``maverick``, which is their home too, and the command in it."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from canary import lookout
from cli.command import run
from maverick.agents import registry
from maverick.cli.main import main
from maverick.journal import RunRecord, SqliteJournal


class Folder:
    """The folder; nothing of whoever runs the tests is set in it."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self._monkeypatch = monkeypatch
        for name in os.environ:
            if name.startswith(("ANTHROPIC_", "OPENAI_", "MAVERICK_", "NO_COLOR")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(path))
        monkeypatch.chdir(path)
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.setattr(registry, "_agents", dict(registry.get_all()))

    def set(self, name: str, value: str) -> None:
        """Set a variable of the environment."""
        self._monkeypatch.setenv(name, value)

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip(), encoding="utf-8")
        return file

    def main(self, *words: str, said: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the command in this process, which is as good as another for most of what it does.

        Args:
            words: What is written after the command.
            said: What is piped into it, if anything is.
        """
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
        with (
            pytest.MonkeyPatch.context() as process,
            redirect_stdout(streams[0]),
            redirect_stderr(streams[1]),
        ):
            process.setattr(sys, "path", [*sys.path])
            process.setattr(registry, "_agents", dict(registry.get_all()))
            if said is not None:
                process.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said.encode()), encoding="utf-8"))
            code = main(words)
        self.forget()
        written = []
        for stream in streams:
            stream.flush()
            written.append(stream.buffer.getvalue().decode())
        lookout.look("the output of a command", written)
        return subprocess.CompletedProcess(words, code, *written)

    def forget(self) -> None:
        """Forget the modules of this folder that were imported, as a process does when it ends."""
        below = f"{self.path}{os.sep}"
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(below):
                del sys.modules[name]

    def start(
        self, *words: str, said: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own, with something piped into it."""
        return run(*words, home=self.path, said=said, env=env)

    def json(self, *words: str) -> Any:
        """What the command writes as one JSON value."""
        done = self.main(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refuse(self, *words: str) -> str:
        """Run a command that must be refused, and return the one line it complains with."""
        done = self.main(*words)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("maverick: ")
        return line

    def runs(self) -> list[RunRecord]:
        """The runs that were kept, newest first."""

        async def look() -> list[RunRecord]:
            async with SqliteJournal(self.path / ".maverick" / "runs.db") as journal:
                return list(await journal.list_runs())

        return asyncio.run(look())
