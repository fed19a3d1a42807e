"""Stands between a journal and its Postgres server, and cuts the connection at a commit of one's choice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from wire.tcp_server import tcp_server

_COMMIT = b"COMMIT\0"


class CuttingProxy:
    """Passes on what client and server say.

    Args:
        socket: The server's socket.
        deliver: Whether the server still hears the commit at which the connection is cut; the client never hears of it.
        cuts: Asked at each commit whether to cut there.
    """

    def __init__(self, socket: Path, cuts: Callable[[], bool], *, deliver: bool) -> None:
        self._socket = socket
        self._cuts = cuts
        self._deliver = deliver

    async def serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """Serve one connection of a client."""
        server, to_server = await asyncio.open_unix_connection(self._socket)
        answering = asyncio.ensure_future(_pass_on(server, to_client))
        try:
            while said := await client.read(65536):
                if said.endswith(_COMMIT) and self._cuts():
                    answering.cancel()
                    await asyncio.wait([answering])
                    if self._deliver:
                        to_server.write(said)
                        await server.readuntil(_COMMIT)  # the server's own words when it is done
                    return
                to_server.write(said)
                await to_server.drain()
        finally:
            answering.cancel()
            await asyncio.wait([answering])
            for writer in (to_client, to_server):
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()


@asynccontextmanager
async def cutting_proxy(url: str, cuts: Callable[[], bool], *, deliver: bool) -> AsyncIterator[str]:
    """The address at which a server can be reached through a proxy."""
    parts = urlsplit(url)
    proxy = CuttingProxy(Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432", cuts, deliver=deliver)
    async with tcp_server(proxy.serve) as address:
        yield f"postgresql://postgres@{address}{parts.path}"


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while said := await reader.read(65536):
            writer.write(said)
            await writer.drain()
    writer.close()
