"""A process that starts a family of processes, says so, and waits to be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from maverick.providers.claude_cli.transport import CliProcess


async def own(program: str, *, fork: bool) -> None:
    process = await CliProcess.start(["/bin/sh", "-c", program], env=dict(os.environ), cwd=Path.cwd())
    await process.stdout.readline()
    sys.stdout.write("started\n")
    sys.stdout.flush()
    if fork:
        child = os.fork()
        if child == 0:
            os.close(1)  # whoever reads from us need not wait for it
            signal.pause()
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
    await process.wait()


if __name__ == "__main__":
    asyncio.run(own(sys.argv[1], fork="fork" in sys.argv))
