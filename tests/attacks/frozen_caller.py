"""A process that calls a subagent and freezes before that run exists: ``python frozen_caller.py ADDRESS FOLDER``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from conformance.journals.shelf import shelf_at
from maverick import AgentDefinition, AgentExecutor, tool
from maverick.exceptions import LeaseLostError
from maverick.model import Request, Role
from maverick.testing import ScriptedClient, call, reply
from scenario import agent

OVERTAKEN = 3
"""The exit code of a process that was told that the run is not its own any more."""


def boss(folder: Path, who: str) -> AgentDefinition:
    """An agent whose helper notes who worked."""

    @tool(effect="pure")
    async def look() -> str:
        """Look."""
        note(folder, f"{who} looked")
        return "seen"

    return agent(agent(look, name="helper").as_tool(), name="boss")


def client(folder: Path, who: str, before: Callable[[], Awaitable[None]] | None = None) -> ScriptedClient:
    """A model that notes who asked it; ``before`` is awaited when the helper is first asked."""

    async def answer(request: Request) -> object:
        asked = sum(message.role is Role.ASSISTANT for message in request.messages)
        note(folder, f"{who} asked")
        if [each.name for each in request.tools] == ["helper"]:
            return reply("Done.") if asked else call("helper")
        if before is not None and not asked:
            await before()
        return reply("Helped.") if asked else call("look")

    return ScriptedClient(answer)  # type: ignore[arg-type]


def note(folder: Path, text: str) -> None:
    with (folder / "ledger").open("a") as ledger:
        ledger.write(f"{text}\n")


async def _call(address: str, folder: Path) -> None:
    def freeze(point: str, before: bool) -> None:
        if point == "ToolsStarted" and not before:
            journal.on_write = None
            os.kill(os.getpid(), signal.SIGSTOP)

    async with shelf_at(address).open() as journal:
        journal.on_write = freeze
        await AgentExecutor(client(folder, "former"), journal=journal).execute(
            boss(folder, "former"), run_id="r"
        )


if __name__ == "__main__":
    try:
        asyncio.run(_call(sys.argv[1], Path(sys.argv[2])))
    except LeaseLostError:
        sys.exit(OVERTAKEN)
