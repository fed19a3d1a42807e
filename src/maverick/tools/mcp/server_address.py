"""Where an MCP server is: a command to start, or a URL to call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from maverick.exceptions import InvalidInputError


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """How to reach an MCP server: by a command, which is started, or by a URL.

    Of this process's environment a command gets only what it can not do without; anything else, keys above all, has to
    be in ``env``.
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

    def __post_init__(self) -> None:
        if isinstance(self.command, str):
            raise InvalidInputError(
                f"command: expected a list such as ['npx', 'server'], got {self.command!r}.", field="command"
            )
        if bool(self.command) == bool(self.url):
            raise InvalidInputError("An MCP server has either a command or a url.", field="command")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise InvalidInputError("url: expected an http:// or https:// address.", field="url")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """An address from settings: ``command`` with ``args``, ``env`` and ``cwd``, or ``url`` with ``headers``.

        Raises:
            InvalidInputError: A setting is unknown, or there is neither a command nor a URL.
        """
        known = {"command", "args", "env", "cwd", "url", "headers"}
        if unknown := sorted(settings.keys() - known):
            raise InvalidInputError(
                f"{unknown[0]}: no setting of an MCP server; there are {', '.join(sorted(known))}.",
                field=unknown[0],
            )
        command = settings.get("command", ())
        words = [command] if isinstance(command, str) and command else list(command)
        rest = {name: settings[name] for name in ("env", "cwd", "url", "headers") if name in settings}
        return cls(command=[*words, *settings.get("args", ())], **rest)

    def with_credentials(
        self, *, env: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
    ) -> Self:
        """The same server with a user's own credentials."""
        return replace(self, env={**self.env, **(env or {})}, headers={**self.headers, **(headers or {})})

    def client(self) -> Client:
        """A client of the server, not connected yet."""
        if self.url:
            return Client(_http(self.url, self.headers))
        program, *arguments = self.command
        return Client(
            StdioServerParameters(
                command=program,
                args=arguments,
                env=dict(self.env),
                cwd=self.cwd,
                encoding_error_handler="replace",
            )
        )


@asynccontextmanager
async def _http(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    async with (
        create_mcp_http_client(headers=dict(headers)) as http_client,
        streamable_http_client(url, http_client=http_client) as streams,
    ):
        yield streams
