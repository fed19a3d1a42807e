"""An agent with an errand, and a program that runs it, to be killed in the middle: ``python errand.py FOLDER URL``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from claude_cli_runs.scripted_api import ScriptedAPI, in_turn
from maverick import AgentDefinition, AgentExecutor, tool
from maverick.journal import SqliteJournal
from maverick.providers.claude_cli import cli_tool
from scenario import agent


def errand(work: Path) -> AgentDefinition[Any]:
    """An agent that may use the shell, and a tool of ours that leaves a trace."""

    @tool
    async def note(words: str) -> str:
        """Write something down."""
        with (work / "notes.txt").open("a") as file:
            file.write(f"{words}\n")
        return f"noted {words}"

    return agent(note, cli_tool("Bash"), name="errand")


async def main(folder: Path, url: str) -> None:
    api = ScriptedAPI(folder, in_turn())
    api.url = url
    async with SqliteJournal(folder / "runs.db") as journal:
        await AgentExecutor(api.client(), journal=journal).execute(errand(api.work), run_id="r")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
