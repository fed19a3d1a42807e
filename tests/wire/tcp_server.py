"""A bare TCP server for tests that write an answer's bytes by hand."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def tcp_server(
    serve: Serve, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """Serve each connection within the block; gives the address, and leaves no connection open at its end."""
    tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    # Accepted by a plain function: a connection counts from the moment it exists, not when its task first runs.
    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks[asyncio.ensure_future(handle(reader, writer))] = writer

    listener = await asyncio.start_server(accept, host, 0, ssl=tls)
    try:
        yield f"{host}:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await asyncio.sleep(0)  # what was accepted in this round of the loop is handed over in the next
        for task, writer in tasks.items():
            task.cancel()
            writer.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(writer.wait_closed() for writer in tasks.values()), return_exceptions=True)
