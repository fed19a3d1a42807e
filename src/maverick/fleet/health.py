"""What a worker answers to whoever runs it: whether it is alive, whether it takes runs, and its metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from maverick.exceptions import InvalidInputError, MaverickError
from maverick.fleet.worker import Worker


@asynccontextmanager
async def serve_health(worker: Worker, host: str, port: int) -> AsyncIterator[int]:
    """Serve ``/health``, ``/ready`` and ``/metrics`` during the block; yields the port.

    ``/health`` says that the event loop runs, and nothing about the servers that the worker needs: a restart would not help
    when those are down. ``/ready`` fails while the worker takes no runs. Port 0 is any that is free.

    Raises:
        InvalidInputError: The port cannot be listened at.
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
