"""Where an MCP server is: a command to start, or a URL to call."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.session import ElicitationFnT, SamplingFnT
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage

from maverick.exceptions import InvalidInputError, NetworkError
from maverick.misuse import refuse
from maverick.processes import Program
from maverick.tools.mcp.server_tasks import ServerTasks

NOT_SIGNED_IN = 401
_NOT_ALLOWED = (NOT_SIGNED_IN, 403, 407)
_LONGEST_LINE = 64 * 1024 * 1024
_EXIT_SECONDS = 2.0
"""How long a server may take to exit by itself once its input has ended."""


class NotAllowedError(NetworkError):
    """A server at a URL refuses requests that are signed so."""

    def __init__(self, status: int) -> None:
        super().__init__(f"refused the connection with HTTP {status}.")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """How to reach an MCP server: by a command, which is started, or by a URL.

    A command gets only the most necessary variables of our environment. Everything else, such as keys, has to be in
    ``env``.
    """

    command: Sequence[str] = ()
    """The program and its arguments; no shell reads them."""
    url: str = ""
    """An ``http(s)://`` address that speaks streamable HTTP."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables for the command."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers for the URL, such as ``Authorization``."""
    cwd: str | None = None
    """The folder the command is started in."""
    elicitation: ElicitationFnT | None = field(default=None, repr=False, compare=False)
    """What answers the server's questions; without it, the server is told that no one can be asked."""
    sampling: SamplingFnT | None = field(default=None, repr=False, compare=False)
    """What asks a model for the server; without it, the server is told that none can be asked."""
    auth: httpx2.Auth | None = field(default=None, repr=False, compare=False)
    """What signs requests to the URL, such as :class:`~maverick.tools.mcp.stored_tokens.StoredTokens`."""

    def __post_init__(self) -> None:
        if isinstance(self.command, str):
            refuse("command", f"expected a list such as ['npx', 'server'], got {self.command!r}.")
        if bool(self.command) == bool(self.url):
            raise InvalidInputError("An MCP server has either a command or a url.", field="command")
        if self.url and not self.url.startswith(("http://", "https://")):
            refuse("url", "expected an http:// or https:// address.")

    def with_credentials(
        self, *, env: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Self:
        """The same server with a user's own credentials."""
        return replace(self, env={**self.env, **(env or {})}, headers={**self.headers, **(headers or {})})

    def client(self) -> Client:
        """A client of the server, not connected yet."""
        transport = _http(self.url, self.headers, self.auth) if self.url else _stdio(self)
        return Client(
            transport,
            elicitation_callback=self.elicitation,
            sampling_callback=self.sampling,
            extensions=[ServerTasks()],
        )

    def folder(self) -> str | None:
        """The folder to start the command in, if one is named.

        Raises:
            FileNotFoundError: The folder or the program does not exist; ``filename`` says which.
        """
        folder = None if self.cwd is None else str(Path(self.cwd).expanduser())
        if folder is not None and not Path(folder).is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
        program = self.command[0]
        file = str(Path(folder or "", program)) if os.sep in program else program
        if shutil.which(file, path=self.env.get("PATH")) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
        return folder


@asynccontextmanager
async def _stdio(address: ServerAddress) -> AsyncIterator[Any]:
    """The streams of a program; it ends with this process at the latest, and all it has started with it.

    What the program writes to its standard error is dropped: it would be mixed with the agent's words, and may hold keys.
    """
    program, ((_, to_server), (from_server, from_writer)) = await Program.connect(
        address.command,
        (1, _LONGEST_LINE),
        env=get_default_environment() | dict(address.env),
        cwd=address.folder() or Path.cwd(),
    )
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, accepted = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        with (
            incoming,
            suppress(ConnectionError, ValueError, anyio.BrokenResourceError, anyio.ClosedResourceError),
        ):
            while line := await from_server.readline():
                await incoming.send(_message(line))

    async def write() -> None:
        with accepted, suppress(ConnectionError):
            async for message in accepted:
                to_server.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode())
                to_server.write(b"\n")
                await to_server.drain()
            return
        incoming.close()  # the session has to learn that the server does not listen

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            with received, outgoing:
                yield received, outgoing
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            to_server.close()
            await program.exits_within(_EXIT_SECONDS)
            await program.aclose()
            from_writer.transport.abort()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        text = line.decode("utf-8", "replace")
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError as error:
        return error


@asynccontextmanager
async def _http(url: str, headers: Mapping[str, str], auth: httpx2.Auth | None) -> AsyncIterator[Any]:
    from mcp.client.auth import OAuthClientProvider  # here, since most servers are programs

    async def look_at(response: httpx2.Response) -> None:
        is_taken = response.status_code == NOT_SIGNED_IN and isinstance(auth, OAuthClientProvider)
        if response.status_code in _NOT_ALLOWED and not is_taken:
            raise NotAllowedError(response.status_code)  # the library would only say that something is wrong

    async with (
        create_mcp_http_client(headers=dict(headers), auth=auth) as http_client,
        streamable_http_client(url, http_client=http_client) as streams,
    ):
        http_client.event_hooks["response"].append(look_at)
        yield streams
