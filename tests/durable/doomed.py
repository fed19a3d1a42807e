"""A process that asks a person and is killed: ``python doomed.py FOLDER WRITE before|after NUMBER`` dies at that write."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from durable.office import by_turn
from maverick import AgentExecutor, AgentResult, ApprovalRequest, tool
from maverick.journal import Journal, SqliteJournal
from maverick.loop.policy import PolicyDecision, Verdict
from maverick.model import Tool, ToolCall
from maverick.testing import ScriptedClient, call, calls, reply
from scenario import agent


class AskWithoutReason:
    """A policy that has a person asked about everything and does not say why."""

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        return PolicyDecision(Verdict.ASK)


async def send_letters(folder: Path, journal: Journal, *, resume: bool) -> AgentResult[Any]:
    """Send two letters, about each of which a person is asked; what is asked and sent is noted in the folder."""

    @tool
    async def send(to: str) -> str:
        """Send a letter."""
        note("sent", to)
        return "sent"

    async def approve(wanted: ApprovalRequest) -> bool:
        note("asked", wanted.arguments["to"])
        return bool(wanted.arguments["to"] == "ana")

    def note(name: str, word: str) -> None:
        with (folder / name).open("a") as file:
            file.write(f"{word}\n")

    script = by_turn(calls(call("send", to="ana"), call("send", to="bob")), reply("Done."))
    executor = AgentExecutor(
        ScriptedClient(script), journal=journal, permissions=AskWithoutReason(), approve=approve
    )
    secretary = agent(send)
    if resume:
        return await executor.resume("r", secretary)
    return await executor.execute(secretary, run_id="r")


async def _die(folder: Path, write: str, when: str, number: int) -> None:
    left = number

    def kill(name: str, before: bool) -> None:
        nonlocal left
        if (name, before) == (write, when == "before"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    async with SqliteJournal(folder / "runs.db") as journal:
        journal.on_write = kill
        await send_letters(folder, journal, resume=False)


if __name__ == "__main__":
    asyncio.run(_die(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
