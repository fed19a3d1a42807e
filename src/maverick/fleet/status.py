"""What a fleet is doing, and what a worker answers to whoever runs it: whether it is alive and takes runs, and its metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web
from msgspec import Struct

from maverick.exceptions import InvalidInputError, MaverickError
from maverick.fleet.client import Fleet
from maverick.fleet.store import FleetRecord, FleetState
from maverick.fleet.worker import Worker


class WorkerRecord(Struct, frozen=True, kw_only=True):
    """A worker that is running."""

    name: str
    host: str
    version: str
    """The version of Maverick."""
    agents: list[str]
    capacity: int
    """How many runs it drives at once at most."""
    runs: int
    """How many it drives."""
    began_at: float


class Overview(Struct, frozen=True, kw_only=True):
    """A fleet at a moment."""

    workers: list[WorkerRecord]
    states: dict[str, int]
    """How many runs are in each state."""
    runs: list[FleetRecord]
    """The newest runs that have not ended."""


async def fleet_overview(fleet: Fleet, limit: int = 100) -> Overview:
    """What a fleet is doing, with as many of its open runs as the limit allows."""
    database = fleet.journal.database
    workers = await database.fetch(
        "SELECT worker AS name, host, version, queues, capacity, extract(epoch FROM began_at)::float8 AS began_at, "
        "(SELECT count(*) FROM maverick.fleet_runs r WHERE r.worker = w.worker) AS runs "
        "FROM maverick.fleet_workers w ORDER BY began_at"
    )
    states = await database.fetch("SELECT state, count(*) AS runs FROM maverick.fleet_runs GROUP BY state")
    return Overview(
        workers=[
            msgspec.convert({**dict(row), "agents": _agents(row["queues"])}, WorkerRecord) for row in workers
        ],
        states={row["state"]: row["runs"] for row in states},
        runs=await fleet.store.runs(*(set(FleetState) - {FleetState.ENDED}), limit=limit),
    )


def _agents(queues: list[str]) -> list[str]:
    """The agents whose runs come through queues: each has some for all versions, and one for its own."""
    names = (queue.rpartition("/")[2].partition("@")[0] for queue in queues)
    # The server has queues of its own, such as maverick:chat.
    return sorted({name.rpartition(":")[2] for name in names})


@asynccontextmanager
async def serve_health(worker: Worker, host: str, port: int) -> AsyncIterator[int]:
    """Serve ``/health``, ``/ready`` and ``/metrics`` during the block; yields the port.

    ``/health`` says that the event loop runs, and nothing about the servers that the worker needs: a restart would not help
    when those are down. ``/ready`` fails while the worker takes no runs. Port 0 is any that is free.
    """

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def ready(_: web.Request) -> web.Response:
        problem = await _problem(worker)
        if problem is None:
            return web.json_response({"status": "ready"})
        return web.json_response({"status": problem}, status=503)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(
            body=worker.metrics.render(), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        )

    app = web.Application(client_max_size=1024)
    app.add_routes([web.get("/health", health), web.get("/ready", ready), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise InvalidInputError(
                f"The health endpoint cannot listen at {host}:{port}: {error.strerror}. Choose another port with "
                "--health-port.",
                field="health_port",
            ) from error
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def _problem(worker: Worker) -> str | None:
    """Why a worker takes no runs, if it does not."""
    if worker.is_stopping:
        return "stopping"
    if not worker.is_ready:
        return "not registered: the database cannot be reached"
    try:
        await worker.fleet.check()
    except MaverickError:
        return "Temporal cannot be reached"
    return None
