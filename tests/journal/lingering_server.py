"""A Postgres server whose connections seem to be open for a while after it has ended them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from postgres import run_statement
from wire.tcp_server import tcp_server

_END_CONNECTIONS = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'maverick'
"""


class LingeringServer:
    """A server that is reached by a proxy: when it ends a connection, the client hears why, and not that it has ended."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._parts = urlsplit(url)
        self._ended = asyncio.Semaphore(0)
        self._lingers = False
        self._clients: list[asyncio.StreamWriter] = []
        self.address = ""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[LingeringServer]:
        """Accept connections within the block."""
        async with tcp_server(self._serve) as address:
            self.address = f"postgresql://postgres@{address}{self._parts.path}"
            yield self

    async def end_connections(self) -> None:
        """End all connections, and wait until their clients have heard why."""
        self._lingers = True
        for _ in await run_statement(self._url, _END_CONNECTIONS):
            await self._ended.acquire()
        self._lingers = False
        await asyncio.sleep(0.05)

    async def hang_up(self) -> None:
        """Have the ends of all connections arrive."""
        for client in self._clients:
            client.close()
        await asyncio.sleep(0.05)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        socket = Path(parse_qs(self._parts.query)["host"][0]) / ".s.PGSQL.5432"
        server, to_server = await asyncio.open_unix_connection(socket)
        answering = asyncio.ensure_future(self._answer(server, to_client))
        try:
            with suppress(OSError):
                while said := await client.read(65536):
                    to_server.write(said)
        finally:
            answering.cancel()
            await asyncio.wait([answering])
            to_server.close()

    async def _answer(self, server: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while said := await server.read(65536):
                to_client.write(said)
                await to_client.drain()
        if self._lingers:
            self._clients.append(to_client)
            self._ended.release()
        else:
            to_client.close()
