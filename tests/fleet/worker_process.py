"""A worker: ``python -m fleet.worker_process AGENTS.py TEMPORAL DB QUEUE MAX_RUNS``, until SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from maverick import AgentExecutor
from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.running import agent_executor, offered_agents
from maverick.config import MaverickConfig
from maverick.fleet import Fleet
from maverick.fleet.worker import Offer, Worker
from maverick.journal import PostgresJournal

_CONFIG = MaverickConfig()


async def _work(agents: str, temporal: str, db: str, queue: str, max_runs: str) -> None:
    journal = PostgresJournal(db)
    offers = {}
    for name, found in offered_agents(_CONFIG, [agents]).items():
        definition = found.runnable(_CONFIG)
        assert definition is not None
        offers[name] = Offer(definition, _executors(found, journal))
    async with await Fleet.connect(temporal=temporal, journal=journal, queue=queue) as fleet:
        working = asyncio.create_task(Worker(fleet, offers, max_runs=int(max_runs)).run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
        await asyncio.wait([working])
        if not working.cancelled():
            working.result()


def _executors(
    found: DiscoveredAgent, journal: PostgresJournal
) -> Callable[[str | None], AbstractAsyncContextManager[AgentExecutor]]:
    @asynccontextmanager
    async def executor(user_id: str | None) -> AsyncIterator[AgentExecutor]:
        async with agent_executor(found, _CONFIG, journal, user_id=user_id) as executor:
            yield executor

    return executor


if __name__ == "__main__":
    asyncio.run(_work(*sys.argv[1:]))
