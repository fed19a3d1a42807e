"""An ASGI app in a process of its own, whose CPU time and memory can be asked for."""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self, TypeAlias

import uvicorn

MakeApp: TypeAlias = Callable[[str], Any]
"""A function of a module that makes the app, given a database."""


class ServedProcess:
    """A server that is up for as long as the context is.

    Args:
        make_app: Makes what is served.
        database: What it is made with.
    """

    def __init__(self, make_app: MakeApp, database: str) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._ours, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(make_app, database, theirs), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        self.url = f"http://127.0.0.1:{self._ours.recv()}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ours.send("stop")
        self._process.join()

    def used(self) -> tuple[float, float]:
        """The CPU seconds it has used, and the most memory it has had, in megabytes."""
        self._ours.send("used")
        used: tuple[float, float] = self._ours.recv()
        return used


def _serve(make_app: MakeApp, database: str, connection: Connection) -> None:
    asyncio.run(_serve_until_told(make_app(database), connection))


async def _serve_until_told(app: Any, connection: Connection) -> None:  # noqa: ANN401 - any ASGI app
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_level="error", backlog=1024, timeout_keep_alive=120)
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - it has no event to wait for
        await asyncio.sleep(0.01)
    connection.send(server.servers[0].sockets[0].getsockname()[1])
    while await asyncio.to_thread(connection.recv) == "used":
        connection.send((time.process_time(), _megabytes()))
    server.should_exit = True
    await serving


def _megabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
