"""A network that can fail: a link to a server that passes nothing on while it is cut, and all that was held afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

from wire.tcp_server import tcp_server

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_GONE = (OSError, asyncio.IncompleteReadError)


class Link:
    """Passes what arrives at a port of this machine on to a server, and back.

    Args:
        connect: Makes a connection to the server.
    """

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        self._connect = connect
        self._whole = asyncio.Event()
        self._whole.set()
        self.port = 0

    def cut(self) -> None:
        """Hold whatever is sent from now on; connections stay, and new ones get no answer."""
        self._whole.clear()

    def mend(self) -> None:
        """Deliver what was held, late as it is, and pass on what follows."""
        self._whole.set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Link]:
        """Accept connections within the block."""
        async with tcp_server(self._serve) as address:
            self.port = int(address.rpartition(":")[2])
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*_GONE):
            await self._whole.wait()
            far_reader, far_writer = await self._connect()
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._pass_on(reader, far_writer))
                    both.create_task(self._pass_on(far_reader, writer))
            finally:
                far_writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*_GONE):
            while data := await reader.read(1 << 16):
                await self._whole.wait()
                writer.write(data)
                await writer.drain()
        await self._whole.wait()  # the end of a connection is held like anything else
        writer.close()


def link_to_temporal(address: str) -> Link:
    """A link to a server at ``host:port``."""
    host, _, port = address.rpartition(":")
    return Link(lambda: asyncio.open_connection(host, int(port)))


def link_to_postgres(url: str) -> Link:
    """A link to the server of a database URL that names a folder with its socket."""
    (folder,) = parse_qs(urlsplit(url).query)["host"]
    return Link(lambda: asyncio.open_unix_connection(f"{folder}/.s.PGSQL.5432"))


def through(link: Link, url: str) -> str:
    """The URL of a database, reached through a link."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{parts.username}@127.0.0.1:{link.port}", query="").geturl()
