"""A process that is killed while it answers: ``python doomed.py DATABASE JOURNAL NUMBER`` dies at that write."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from itertools import count

from maverick.chat import AgentContext, AgentRunner, Database, MCPToolServer
from maverick.journal import SqliteJournal

REQUEST = "request-1"
SAID = "add buy milk"


async def answer(database: Database, journal: SqliteJournal) -> str:
    runner = AgentRunner(database.session, MCPToolServer(database.session), journal=journal)
    context = AgentContext.from_request("ana", "talk", [])
    result = await runner.run(context, SAID, request_id=REQUEST)
    await runner.aclose()
    return result.response


async def _die(location: str, journal_file: str, last: int) -> None:
    writes = count(1)

    def kill(_name: str, _before: bool) -> None:
        if next(writes) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    async with SqliteJournal(journal_file) as journal:
        journal.on_write = kill
        await answer(Database(location), journal)


if __name__ == "__main__":
    asyncio.run(_die(sys.argv[1], sys.argv[2], int(sys.argv[3])))
