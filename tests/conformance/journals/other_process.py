"""Another process at the same journal: does what it is told, line by line, and says what came of it.

It is started with the journal's address. Each line it reads is a command with its arguments, separated by spaces; each
line it writes is the answer to one: a value, or the name of the error.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager
from subprocess import PIPE
from typing import Any

from conformance.journals.shelf import document, note, record, seen, shelf_at
from maverick.exceptions import MaverickError
from maverick.journal import Journal
from maverick.journal.records import Lease
from warm_start import Script

Command = Callable[..., Coroutine[Any, Any, object]]


class Worker:
    """What the process can do."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._leases: dict[str, Lease] = {}
        self.commands: dict[str, Command] = {
            "create": self.create,
            "claim": self.claim,
            "append": self.append,
            "fill": self.fill,
            "write_for_ever": self.write_for_ever,
            "approve": self.approve,
        }

    async def create(self, run_id: str) -> int:
        self._leases[run_id] = await self._journal.create(record(run_id), [])
        return self._leases[run_id].token

    async def claim(self, run_id: str) -> int:
        self._leases[run_id] = await self._journal.claim(run_id)
        return self._leases[run_id].token

    async def append(self, run_id: str, text: str) -> None:
        await self._journal.append(self._leases[run_id], [note(text)])

    async def fill(self, prefix: str, runs: str, entries: str) -> None:
        """Write many runs at once."""

        async def write(run_id: str) -> None:
            lease = await self._journal.create(record(run_id), [])
            for number in range(int(entries)):
                await self._journal.append(lease, [note(str(number))])

        await asyncio.gather(*(write(f"{prefix}{number}") for number in range(int(runs))))

    async def write_for_ever(self, run_id: str) -> None:
        """Say of each entry that it is durable, as soon as it is."""
        number = 0
        while True:
            attached = document(f"document {number}")
            await self._journal.append(
                self._leases[run_id], [note(str(number)), seen(attached)], blobs=[attached.blob]
            )
            say(number)
            number += 1

    async def approve(self, approval_id: str, by: str) -> str:
        return (await self._journal.approve(approval_id, by=by)).decided_by


def say(answer: object) -> None:
    sys.stdout.write(f"{answer}\n")
    sys.stdout.flush()


async def work(address: str) -> None:
    worker = Worker(shelf_at(address).open())
    say("ready")
    while line := await asyncio.to_thread(sys.stdin.readline):
        name, *arguments = line.split()
        try:
            say(await worker.commands[name](*arguments))
        except MaverickError as error:
            say(type(error).__name__)


class OtherProcess:
    """The other process, seen from this one."""

    def __init__(self, process: Script) -> None:
        self.process = process

    async def ask(self, *command: object) -> str:
        """Have it do something; returns its answer."""
        self.tell(*command)
        return await self.hear()

    def tell(self, *command: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{' '.join(map(str, command))}\n".encode())

    async def hear(self) -> str:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            line: bytes = await asyncio.to_thread(self.process.stdout.readline)
        return line.decode().strip()

    async def kill(self) -> list[str]:
        """Kill it with SIGKILL; returns what it had still said."""
        self.process.kill()
        assert self.process.stdout is not None
        rest: bytes = await asyncio.to_thread(self.process.stdout.read)
        await self.process.ended()
        return rest.decode().splitlines()


@asynccontextmanager
async def other_processes(address: str, count: int = 1) -> AsyncIterator[list[OtherProcess]]:
    """Start other processes at a journal."""
    with ExitStack() as processes:
        others = [
            OtherProcess(
                processes.enter_context(
                    Script("conformance.journals.other_process", address, stdin=PIPE, stdout=PIPE, bufsize=0)
                )
            )
            for _ in range(count)
        ]
        try:
            assert [await other.hear() for other in others] == ["ready"] * count
            yield others
        finally:
            for other in others:
                other.process.kill()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1]))
