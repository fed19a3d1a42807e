"""Clients that begin requests and never finish them, or never read what they asked for."""

from __future__ import annotations

import asyncio
import socket
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path

import pytest

from maverick.server import ConnectionLimits
from server.chat_server import PATIENCE, ChatServer

HEADERS = b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\n"
BODY = HEADERS + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"


async def connected(server: ChatServer, address: str = "127.0.0.1") -> socket.socket:
    """A bare connection; all of 127.0.0.0/8 is this machine."""
    made = socket.socket()
    made.setblocking(False)
    made.bind((address, 0))
    port = int(server.url.rpartition(":")[2])
    await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
    return made


async def is_dropped(connection: socket.socket) -> bool:
    """Whether the server closes a connection before the patience is over."""
    with suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE):
            while await asyncio.get_running_loop().sock_recv(connection, 4096):
                pass
    return True


@pytest.mark.requirement("SERVER-SLOW-CLIENTS")
@pytest.mark.parametrize(
    "begun", [b"", b"GET /hea", HEADERS, BODY], ids=["nothing", "a word", "headers", "a body"]
)
async def test_a_request_that_is_never_finished_is_dropped(tmp_path: Path, begun: bytes) -> None:
    limits = ConnectionLimits(header_seconds=0.2, body_seconds=0.2)
    async with ChatServer(tmp_path / "chat.db", connections=limits) as server:
        with closing(await connected(server)) as client:
            await asyncio.get_running_loop().sock_sendall(client, begun)

            assert await is_dropped(client)


@pytest.mark.requirement("SERVER-SLOW-CLIENTS")
async def test_sending_a_little_now_and_then_wins_no_time(tmp_path: Path) -> None:
    limits = ConnectionLimits(header_seconds=0.5)
    async with ChatServer(tmp_path / "chat.db", connections=limits) as server:
        with closing(await connected(server)) as client:

            async def trickle() -> None:
                await asyncio.get_running_loop().sock_sendall(client, HEADERS)
                while True:
                    await asyncio.get_running_loop().sock_sendall(client, b"X-More: 1\r\n")
                    await asyncio.sleep(0.05)

            with pytest.raises(ConnectionError):
                await asyncio.wait_for(trickle(), PATIENCE)


@pytest.mark.requirement("SERVER-SLOW-CLIENTS")
async def test_a_second_request_on_a_connection_has_its_deadline_too(tmp_path: Path) -> None:
    limits = ConnectionLimits(header_seconds=0.5)
    async with ChatServer(tmp_path / "chat.db", connections=limits) as server:
        with closing(await connected(server)) as client:
            loop = asyncio.get_running_loop()
            await loop.sock_sendall(client, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answered = await loop.sock_recv(client, 4096)
            await loop.sock_sendall(client, b"GET /hea")

            assert answered.startswith(b"HTTP/1.1 200")
            assert await is_dropped(client)


@pytest.mark.requirement("SERVER-SLOW-CLIENTS")
async def test_whoever_reads_nothing_is_dropped(tmp_path: Path) -> None:
    limits = ConnectionLimits(stall_seconds=0.2)
    async with ChatServer(tmp_path / "chat.db", connections=limits) as server:
        with closing(await connected(server)) as client:
            loop = asyncio.get_running_loop()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            asking = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"

            async def ask_and_ask() -> None:
                while True:
                    await loop.sock_sendall(client, asking)
                    await asyncio.sleep(0)

            with pytest.raises(ConnectionError):
                await asyncio.wait_for(ask_and_ask(), PATIENCE)


@pytest.mark.requirement("SERVER-SLOW-CLIENTS")
@pytest.mark.parametrize("begun", [HEADERS, BODY], ids=["headers", "bodies"])
async def test_hundreds_of_half_sent_requests_keep_nobody_out(tmp_path: Path, begun: bytes) -> None:
    never = 10.0 * PATIENCE  # so that no deadline drops what is one too many
    limits = ConnectionLimits(per_address=16, total=24, header_seconds=never, body_seconds=never)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ChatServer(tmp_path / "chat.db", connections=limits))
        ana = server.person("ana")
        clients, statuses = [], []
        for number in range(400):
            client = stack.enter_context(closing(await connected(server, f"127.0.0.{2 + number % 4}")))
            clients.append(client)
            with suppress(ConnectionError):  # it was dropped already
                await asyncio.get_running_loop().sock_sendall(client, begun)
            if number % 40 == 0:
                statuses.append((await ana.get("/api/me", headers={"Connection": "close"})).status)

        assert statuses == [200] * 10
        assert all([await is_dropped(client) for client in clients[: -limits.total]])


@pytest.mark.requirement("SERVER-SLOW-CLIENTS")
async def test_a_connection_that_is_being_served_is_not_closed_for_new_ones(tmp_path: Path) -> None:
    limits = ConnectionLimits(per_address=4, total=64)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ChatServer(tmp_path / "chat.db", connections=limits))
        ana = server.person("ana")
        updates = ana.events("GET", "/api/updates")
        assert (await anext(updates)).name == "ready"

        for _ in range(20):
            stack.enter_context(closing(await connected(server)))
        await ana.post("/api/tasks", {"title": "milk"})

        assert (await anext(updates)).name == "tasks"
