"""A server for each test, and somebody who uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from postgres import postgres_server, postgres_url
from server.chat_server import ChatServer, Person, cheap_passwords
from temporal import temporal_server

__all__ = ["cheap_passwords", "postgres_server", "postgres_url", "temporal_server"]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ChatServer]:
    """A server with the offline model."""
    async with ChatServer(tmp_path / "chat.db") as server:
        yield server


@pytest.fixture
async def ana(server: ChatServer) -> Person:
    """Somebody who is signed in."""
    return server.person("ana")
