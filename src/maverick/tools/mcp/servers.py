"""MCP servers from settings and from files: connected all at once, and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from maverick.config.mcp_server import SETTINGS, MCPServer, prefix_of, server_problem
from maverick.config.own_files import own_folder
from maverick.exceptions import (
    ConfigError,
    InvalidInputError,
    MaverickError,
    TimeoutError,
    ToolError,
    describe_unknown,
)
from maverick.model import Effect
from maverick.tools.mcp.connection import MCPConnection
from maverick.tools.mcp.questions import AskModel, AskUser, elicitation, sampling
from maverick.tools.mcp.server_address import ServerAddress
from maverick.tools.mcp.toolset import MCPTool, MCPToolset, ToolPins

_KEY = "maverick/idempotency-key"
"""The ``_meta`` field with the idempotency key of a call: a server must not act on a second call with the same key."""


def _toolset_of(
    server: MCPServer,
    address: ServerAddress,
    pins: ToolPins,
    prefix: str,
    for_user: Callable[[str], ServerAddress] | None = None,
) -> MCPToolset:
    """The tools of a server, used as its settings say."""
    return MCPToolset(
        server.name,
        address,
        for_user=for_user,
        prefix=prefix,
        pins=pins,
        only=server.tools,
        effect_of=lambda tool: Effect(said) if (said := server.effect_of(tool.name)) else None,
        approval_of=lambda tool: server.needs_approval(tool.name),
        trusted=server.trusted,
        make_meta=lambda context: {_KEY: context.idempotency_key},
    )


def _signed(address: ServerAddress) -> ServerAddress:
    """The address with the tokens of the user's sign-in, if there is one; a header that says who one is comes first."""
    if not address.url or any(name.lower() == "authorization" for name in address.headers):
        return address
    from maverick.tools.mcp.stored_tokens import StoredTokens  # here, since most servers are programs

    return replace(address, auth=StoredTokens(address.url))


class ConfiguredServer:
    """A server of the settings, and the connection to it.

    Where its settings let it ask, ``ask`` asks the user what it wants to know, and ``ask_model`` the user's model if
    they agree.
    """

    def __init__(
        self, server: MCPServer, ask: AskUser | None = None, ask_model: AskModel | None = None
    ) -> None:
        self.server = server
        self._ask = ask
        self._ask_model = ask_model
        self.tools: list[MCPTool] = []
        """The tools agents may use, once it is connected."""
        self.is_connected = False
        self._toolset: MCPToolset | None = None

    @property
    def connection(self) -> MCPConnection:
        """The connection to it; it was connected before."""
        assert self._toolset is not None  # noqa: S101 - it was connected before
        return self._toolset.connection(None)

    @property
    def quarantined(self) -> dict[str, str]:
        """The tools that are not what was accepted, by the server's names, with what they say of themselves now."""
        toolset = self._toolset
        return {} if toolset is None else {name: toolset.listed[name] for name in toolset.quarantined}

    async def connect(self) -> None:
        """Connect to it, and learn which tools it has.

        Raises:
            ConfigError: Its settings do not fit.
            NetworkError: It cannot be reached.
            TimeoutError: It took too long.
            InvalidToolError: Two of its tools would have the same name.
        """
        toolset = self._toolset = self._made()
        try:
            async with asyncio.timeout(self.server.timeout) as patience:
                self.tools = await toolset.tools()
        except BaseException as error:
            await self.aclose()
            if patience.expired():
                raise TimeoutError(
                    f"The MCP server {self.server.name!r} did not answer within {self.server.timeout:g} s. "
                    "Check that it speaks MCP, or raise its timeout in the settings."
                ) from error
            raise
        listed = list(toolset.listed)
        for setting, names in self.server.named_tools().items():
            for name in names:
                if name not in listed:  # with a typing error, approval would never be asked for
                    raise self._wrong(f"{setting}: {describe_unknown('tool', name, listed)}")
        self.is_connected = True

    async def accept(self, tool: str | None = None) -> list[str]:
        """Accept its tools, or one of them, as they are now; returns the names of those that were quarantined."""
        assert self._toolset is not None  # noqa: S101 - it was connected before
        return await self._toolset.accept(tool=tool)

    async def aclose(self) -> None:
        """End the connection, and the server with it if it is a program."""
        if self._toolset is not None:
            await self._toolset.aclose()

    def _made(self) -> MCPToolset:
        server = self.server
        pins = ToolPins(
            own_folder() / "mcp-tools.json" if server.is_written else None, project=server.project
        )
        try:
            address = _signed(ServerAddress(**server.address()))
        except InvalidInputError as error:
            raise self._wrong(str(error)) from error
        if self._ask is not None and server.elicitation:
            address = replace(address, elicitation=elicitation(server.name, self._ask))
        if self._ask is not None and self._ask_model is not None and server.sampling:
            address = replace(address, sampling=sampling(server.name, self._ask, self._ask_model))
        return _toolset_of(server, address, pins, prefix_of(server.name))

    def _wrong(self, problem: str) -> ConfigError:
        return server_problem(self.server.source, self.server.name, problem)


@asynccontextmanager
async def connected_servers(
    servers: Iterable[MCPServer],
    others: Iterable[MCPServer] = (),
    on_remark: Callable[[str], object] = lambda _: None,
    ask: AskUser | None = None,
    ask_model: AskModel | None = None,
) -> AsyncIterator[list[ConfiguredServer]]:
    """Connect to several servers at the same time, for the length of a block.

    If one of ``servers`` cannot be connected, none is, and the error says why; one of ``others`` is left out with a
    remark. ``ask`` and ``ask_model`` are as in :class:`ConfiguredServer`.
    """
    needed, optional = (
        [ConfiguredServer(server, ask, ask_model) for server in some] for some in (servers, others)
    )
    configured = [*needed, *optional]
    try:
        failure = await _connect(needed)
        if failure is not None:
            raise failure
        for one, problem in zip(optional, await asyncio.gather(*map(_problem_of, optional)), strict=True):
            if problem is not None:
                on_remark(f"The MCP server {one.server.name!r} is left out. {problem}")
        yield [one for one in configured if one.is_connected]
    finally:
        await asyncio.gather(*(server.aclose() for server in configured))


async def _problem_of(server: ConfiguredServer) -> MaverickError | None:
    try:
        await server.connect()
    except MaverickError as error:
        return error
    return None


async def _connect(servers: list[ConfiguredServer]) -> BaseException | None:
    """Connect to all servers; the first failure is returned and not raised, so that its cause stays what it was."""
    try:
        async with asyncio.TaskGroup() as connecting:
            for server in servers:
                connecting.create_task(server.connect())
    except BaseExceptionGroup as failures:
        return failures.exceptions[0]
    return None


def plugged_in(file: Path, pins: ToolPins | None = None) -> list[MCPToolset]:
    """The tools of every server in a file; names of tools begin with their server's. A missing file has none.

    A server with ``users`` is used with each user's own credentials, and by no other user.

    Raises:
        ConfigError: The file, or a server in it, is invalid.
    """
    try:
        settings = msgspec.json.decode(file.read_bytes())
        servers = settings["mcpServers"].items()
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f'{file}: expected {{"mcpServers": {{"name": {{"command": …}}}}}}.', source=str(file)
        ) from error
    return [_toolset(file, name, server, pins) for name, server in servers]


def _toolset(file: Path, name: str, server: object, pins: ToolPins | None) -> MCPToolset:
    if not isinstance(server, Mapping):
        raise ConfigError(f"{file}: {name}: expected a command or a url.", source=str(file), field=name)
    settings = MCPServer.read(name, {key: server[key] for key in server if key in SETTINGS}, str(file))
    users = server.get("users")
    try:
        address = ServerAddress(**settings.address())
        for_user = None if users is None else _with_credentials(name, address, users)
        address = _signed(address) if users is None else address
    except (InvalidInputError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file}: {name}: {error}", source=str(file), field=name) from error
    return _toolset_of(settings, address, ToolPins() if pins is None else pins, f"{name}_", for_user)


def _with_credentials(
    name: str, address: ServerAddress, users: Mapping[str, Mapping[str, Any]]
) -> Callable[[str], ServerAddress]:
    addresses = {
        user: address.with_credentials(env=own.get("env"), headers=own.get("headers"))
        for user, own in users.items()
    }

    def for_user(user_id: str) -> ServerAddress:
        if user_id not in addresses:
            raise ToolError(f"You have no access to {name!r}.")
        return addresses[user_id]

    return for_user
