"""MCP servers at a URL: streamable HTTP, with headers whose secrets come from the environment."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from mcp.server import MCPServer
from starlette.responses import PlainTextResponse

from canary import CANARY
from cli.folder import Folder
from cli.shop import own_servers

RUN = ("run", "-p", "search 'tides'", "--mcp", "wiki", "--mode", "yolo", "--model", "offline:")


class Wiki:
    """A server on this machine that answers whoever has the token."""

    def __init__(self) -> None:
        server = MCPServer("wiki")
        server.tool(description="Searches the wiki.")(self.search)
        self._app = server.streamable_http_app(stateless_http=True, json_response=True)
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.asked: list[str] = []
        config = uvicorn.Config(
            self._guarded, interface="asgi3", log_level="error", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def search(self, text: str) -> str:
        self.asked.append(text)
        return f"{text}: the sea comes and goes"

    async def _guarded(self, scope: Any, receive: Any, send: Any) -> None:
        wanted = (b"authorization", f"Bearer {CANARY}".encode())
        if scope["type"] == "http" and wanted not in scope["headers"]:
            await PlainTextResponse("no", status_code=401)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    server = Wiki()
    server.start()
    yield server
    server.stop()


@pytest.mark.requirement("MCP-HTTP", "P9")
def test_a_server_at_a_url_is_used_with_a_token_from_the_environment(folder: Folder, wiki: Wiki) -> None:
    own_servers(folder, wiki={"url": wiki.url, "headers": {"Authorization": "Bearer ${WIKI_TOKEN}"}})

    folder.set("WIKI_TOKEN", CANARY)
    found = folder.main(*RUN)
    folder.set("WIKI_TOKEN", "wrong")
    refused = folder.main(*RUN)

    assert found.returncode == 0, found.stderr
    assert found.stdout.rstrip() == "According to mcp__wiki__search: tides: the sea comes and goes."
    assert refused.returncode == 1
    assert "The MCP server 'wiki' refused the connection with HTTP 401." in refused.stderr
    assert wiki.asked == ["tides"]
    assert CANARY not in found.stdout + found.stderr + refused.stderr
    kept = [path for path in (folder.path / ".maverick").rglob("*") if path.is_file()]
    assert not any(CANARY.encode() in path.read_bytes() for path in kept)


@pytest.mark.requirement("MCP-HTTP")
def test_a_token_that_no_header_can_have_is_refused_without_being_shown(folder: Folder, wiki: Wiki) -> None:
    own_servers(folder, wiki={"url": wiki.url, "headers": {"Authorization": "Bearer ${WIKI_TOKEN}"}})
    folder.set("WIKI_TOKEN", f"{CANARY}\nX-Admin: yes")

    said = folder.main(*RUN, "--debug")

    assert said.returncode == 2
    assert "headers.Authorization: has characters in it that no header can have." in said.stderr
    assert CANARY not in said.stderr
