"""What a worker answers to whoever runs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from maverick.exceptions import InvalidInputError
from maverick.fleet import Fleet
from maverick.fleet.status import serve_health
from maverick.fleet.worker import Worker
from maverick.journal import PostgresJournal
from maverick.testing import reply

from .network import link_to_temporal
from .test_worker import eventually, offer, working


@asynccontextmanager
async def answering(worker: Worker) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of a worker's endpoints."""
    async with (
        serve_health(worker, "127.0.0.1", 0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client,
    ):
        yield client


async def ready(client: aiohttp.ClientSession) -> tuple[int, str]:
    async with client.get("/ready") as response:
        return response.status, (await response.json())["status"]


async def test_a_worker_counts_what_it_drives_and_says_when_it_takes_runs(
    temporal_server: str, postgres_url: str
) -> None:
    async with link_to_temporal(temporal_server).listening() as link:
        journal = PostgresJournal(postgres_url)
        async with await Fleet.connect(
            temporal=f"127.0.0.1:{link.port}", journal=journal, queue=f"test-{link.port}"
        ) as fleet:
            worker = Worker(fleet, offer(fleet, lambda: [reply("Done.")]), max_runs=7)
            async with answering(worker) as client:
                assert await ready(client) == (503, "not registered: the database cannot be reached")
                async with working(worker):
                    await eventually(lambda: is_ready(client))
                    run = await fleet.start("clerk", inputs={"prompt": "Hello."}, user_id="ana")
                    await asyncio.wait_for(run.ended(), 30)
                    metrics = await (await client.get("/metrics")).text()

                    link.cut()
                    assert await ready(client) == (503, "Temporal cannot be reached")
                    assert (await client.get("/health")).status == 200
                    link.mend()
                    await eventually(lambda: is_ready(client))
                    worker.stop()
                    assert await ready(client) == (503, "stopping")

    assert "ana" not in metrics
    for line in [
        'maverick_fleet_drives_total{end="ended"} 1.0',
        'maverick_fleet_drives_total{end="lease_lost"} 0.0',
        "maverick_fleet_queue_seconds_count 1.0",
        "maverick_fleet_capacity 7.0",
        "maverick_fleet_takeovers_total 0.0",
    ]:
        assert line in metrics.splitlines()


async def is_ready(client: aiohttp.ClientSession) -> bool:
    return (await ready(client))[0] == 200


async def test_a_port_that_is_taken_is_named(fleet: Fleet) -> None:
    worker = Worker(fleet, {})
    async with serve_health(worker, "127.0.0.1", 0) as port:
        with pytest.raises(InvalidInputError, match=f"127.0.0.1:{port}.*--health-port"):
            async with serve_health(worker, "127.0.0.1", port):
                pass
