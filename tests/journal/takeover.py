"""Another process that resumes a run when it is told to, and says how that ended."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from subprocess import PIPE

from conformance.journals.shelf import shelf_at
from journal.errands import Errands
from maverick import AgentExecutor
from maverick.exceptions import MaverickError
from warm_start import Script


class SharedLedger(list[str]):
    """A ledger in a file, which several processes write to."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def append(self, done: str) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(file, f"{done}\n".encode())
        finally:
            os.close(file)


async def resume(address: str, ledger: str, run_id: str) -> None:
    """What the other process does."""
    errands = Errands(shelf_at(address), SharedLedger(ledger), pause=0.02)
    async with errands.shelf.open() as journal:
        await journal.list_runs()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        try:
            result = await AgentExecutor(errands.client, journal=journal).resume(run_id, errands.definition)
            said = result.raw_content
        except MaverickError as error:
            said = type(error).__name__
    sys.stdout.write(f"{said}\n")


@asynccontextmanager
async def rivals(address: str, ledger: Path, run_id: str, count: int) -> AsyncIterator[list[Script]]:
    """Other processes, ready to resume the run."""
    with ExitStack() as processes:
        started = [
            processes.enter_context(
                Script("journal.takeover", address, str(ledger), run_id, stdin=PIPE, stdout=PIPE)
            )
            for _ in range(count)
        ]
        try:
            for process in started:
                assert await asyncio.to_thread(process.stdout.readline) == b"ready\n"  # type: ignore[union-attr] # a pipe
            yield started
        finally:
            for process in started:
                process.kill()


if __name__ == "__main__":
    asyncio.run(resume(*sys.argv[1:]))
