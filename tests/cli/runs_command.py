"""``maverick runs`` on a journal that has a run of every kind."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from cli import office_agents
from cli.folder import Folder
from cli.office_agents import chief, clerk, clerk_with
from maverick import AgentExecutor, RunConfig
from maverick.exceptions import AuthenticationError
from maverick.journal import Journal, SqliteJournal
from maverick.testing import ScriptedClient, call, calls, reply

R = TypeVar("R")

AGENTS = str(office_agents.__file__)
"""The file that defines the agents of the runs."""
WILD = "\x1b[2J\x1b]0;owned\x07 \x9b1A\x7f\r\u202ewild\u2066 \ud800 語"
"""Text that would do harm on a terminal, or in an encoding, if it got there."""


class ProcessDied(BaseException):
    """Stands for a kill: nothing after it is written, and nobody handles it."""


class Runs:
    """A journal and the command that looks at it."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self.home = folder.path
        self.file = folder.path / "runs.db"

    def run(self, verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a verb in this process."""
        return self._folder.main("runs", verb, *arguments, "--journal", str(self.file))

    def start(
        self, verb: str, *arguments: str, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a verb in a process of its own."""
        return self._folder.start("runs", verb, *arguments, "--journal", str(self.file), env=env)

    def set(self, name: str, value: str) -> None:
        """Set a variable of the environment."""
        self._folder.set(name, value)

    def json(self, verb: str, *arguments: str) -> Any:
        """What a verb writes as one JSON value."""
        done = self.run(verb, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refuse(self, verb: str, *arguments: str, code: int = 2) -> str:
        """Run a verb that must fail, and return the one line it complains with."""
        done = self.run(verb, *arguments)
        assert (done.returncode, done.stdout) == (code, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("maverick: ")
        return line

    def use(self, work: Callable[[Journal], Awaitable[R]]) -> R:
        """Do something with the journal itself."""

        async def use() -> R:
            async with SqliteJournal(self.file) as journal:
                return await work(journal)

        return asyncio.run(use())


def fits(text: str, width: int = 80) -> bool:
    """Whether no line is too long for a terminal."""
    return all(len(line) <= width for line in text.splitlines())


def is_safe(text: str) -> bool:
    """Whether a text can be shown in a terminal: no control characters, nothing that turns it round."""
    return not {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2066"} - {"\n"} & {*text}


async def fill(journal: Journal) -> None:
    """Make a run of every kind; the newest comes last."""
    offline = AgentExecutor(journal=journal)
    await offline.execute(clerk, inputs={"prompt": "calculate 12 * 7"}, run_id="sum")
    await offline.execute(chief, inputs={"prompt": "ask the clerk 'calculate 3 * 4'"}, run_id="nest")
    await offline.execute(clerk, inputs={"prompt": "delete the file 'a.txt'"}, run_id="wait")
    both = calls(call("delete_file", name="b.txt"), call("delete_file", name="c.txt"))
    await AgentExecutor(ScriptedClient([both]), journal=journal).execute(
        clerk, inputs={"prompt": "delete both files"}, run_id="two"
    )
    await offline.execute(
        chief, inputs={"prompt": "ask the clerk \"delete the file 'd.txt'\""}, run_id="deep"
    )
    await offline.execute(
        clerk_with(run_config=RunConfig(max_turns=1)), inputs={"prompt": "calculate 1 + 1"}, run_id="limit"
    )
    scripted = [calls(call("calculate", expression=WILD), text=WILD), reply(WILD)]
    await AgentExecutor(ScriptedClient(scripted), journal=journal).execute(
        clerk, inputs={"prompt": WILD}, run_id="wild"
    )
    broken = AgentExecutor(ScriptedClient([AuthenticationError("Wrong key. Set another.")]), journal=journal)
    await broken.execute(clerk, inputs={"prompt": "hello"}, run_id="fail")
    await die_after(
        journal, "ToolsStarted", offline.execute(clerk, inputs={"prompt": "calculate 5 * 5"}, run_id="crash")
    )


async def die_after(journal: Journal, write: str, running: Awaitable[object]) -> None:
    """Cut a run off just after a write, as a kill would."""

    def on_write(name: str, before: bool) -> None:
        if name == write and not before:
            raise ProcessDied

    journal.on_write = on_write
    try:
        await running
    except ProcessDied:
        journal.on_write = None
    else:
        raise AssertionError(f"the run made no write {write}")


def table(text: str) -> Sequence[Sequence[str]]:
    """The rows of a table, cut into cells where two spaces are."""
    return [line.split() for line in text.splitlines()]
