"""A process that pays and takes its time over it: ``python payer.py FOLDER``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from durable.office import by_turn
from maverick import AgentExecutor, AgentResult, tool
from maverick.journal import Journal, SqliteJournal
from maverick.model import Outcome, ToolContext
from maverick.testing import ScriptedClient, call, reply
from scenario import agent


async def pay_once(folder: Path, journal: Journal, *, resume: bool) -> AgentResult[Any]:
    """Pay, once the folder has a file ``go``; that it has begun and what was paid are noted in the folder."""

    @tool(effect="irreversible")
    async def pay(to: str) -> str:
        """Pay somebody."""
        (folder / "begun").touch()
        while not (folder / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        with (folder / "paid").open("a") as ledger:
            ledger.write(f"{to}\n")
        return "paid"

    @pay.reconcile
    async def was_it_paid(arguments: Mapping[str, Any], context: ToolContext) -> Outcome:
        return Outcome.done("paid") if (folder / "paid").exists() else Outcome.not_done()

    executor = AgentExecutor(ScriptedClient(by_turn(call("pay", to="ana"), reply("Done."))), journal=journal)
    return await (executor.resume("r", agent(pay)) if resume else executor.execute(agent(pay), run_id="r"))


async def _pay(folder: Path) -> None:
    async with SqliteJournal(folder / "runs.db") as journal:
        await pay_once(folder, journal, resume=False)


if __name__ == "__main__":
    asyncio.run(_pay(Path(sys.argv[1])))
