"""The tools of an MCP server, for agents of many users, and what they were when they were accepted.

A server can change what its tools say after a person has looked at them, and a model believes what it reads. What a
tool says of its harmlessness (``readOnlyHint`` and the like) decides what it may do without being asked about. So a tool
whose description, schema or hints are not what was accepted is kept from agents until somebody accepts it again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Protocol

import mcp_types as types
import msgspec
from mcp import Client

from maverick.config.accepted_hashes import AcceptedHashes
from maverick.exceptions import InvalidToolError, describe_unknown
from maverick.model import Effect, ToolContext
from maverick.tools.mcp.connection import MCPConnection
from maverick.tools.mcp.tool import MakeMeta, MCPTool


class ToolPins:
    """Hashes of the tools that were accepted, by server and tool.

    Args:
        file: Where they are kept; without one, as long as this object lives.
        project: The project the servers are of, whose names may be those of other servers elsewhere.
    """

    def __init__(self, file: Path | None = None, *, project: str = "") -> None:
        self._accepted = AcceptedHashes(file)
        self._project = project

    def check(self, server: str, tools: Iterable[types.Tool]) -> list[str]:
        """The names of tools that are not what was accepted; tools of a server nobody has seen before are accepted."""
        tools = list(tools)
        known = self._accepted.of(self._owner(server))
        if known is None:
            self.accept(server, tools)
            return []
        if earlier := [tool for tool in tools if known.get(tool.name) == _digest_without_hints(tool)]:
            self.accept(
                server, earlier
            )  # their hints were not looked at when they were accepted; from now on they are
        known = self._accepted.of(self._owner(server)) or {}
        return [tool.name for tool in tools if known.get(tool.name) != _digest(tool)]

    def accept(self, server: str, tools: Iterable[types.Tool]) -> None:
        """Accept tools as they are now."""
        self._accepted.add(self._owner(server), {tool.name: _digest(tool) for tool in tools})

    def _owner(self, server: str) -> str:
        return f"{self._project}:{server}" if self._project else server


def _digest(tool: types.Tool) -> str:
    hints = None if tool.annotations is None else tool.annotations.model_dump(mode="json", exclude_none=True)
    return _hash([*_said(tool), hints or None])


def _digest_without_hints(tool: types.Tool) -> str:
    """What a tool was accepted by in earlier versions."""
    return _hash(_said(tool))


def _said(tool: types.Tool) -> list[object]:
    return [tool.name, tool.title, tool.description, tool.input_schema]


def _hash(said: list[object]) -> str:
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()


class Endpoint(Protocol):
    """A place where an MCP server answers; a :class:`ServerAddress` is one."""

    def client(self) -> Client:
        """A client of the server, not connected yet."""
        ...


_MOST_CONNECTIONS = 64
"""How many users' connections are kept open; the one that was not used for longest makes room."""


class MCPToolset:
    """The tools of an MCP server.

    Args:
        name: What the server is called; its accepted tools are remembered under it.
        server: Where it answers.
        for_user: Where it answers a certain user, with that user's credentials; each then has a connection of their own.
        prefix: What the names of its tools begin with for the model.
        pins: What its tools were when they were accepted; by default that is when they are first seen.
        only: The tools agents may use, by the server's names; by default all of them.
        effect_of: What running a tool again would do; by default what :class:`MCPTool` makes of it.
        approval_of: Whether a person has to agree to each call of a tool; by default not.
        sequential_of: Whether a call of a tool runs alone, in its place in the turn; by default what the server says.
        trusted: Whether what its tools answer is taken for words of the user; by default it is marked as somebody else's.
        make_meta: What the server is told beside the arguments.
    """

    def __init__(
        self,
        name: str,
        server: Endpoint,
        *,
        for_user: Callable[[str], Endpoint] | None = None,
        prefix: str = "",
        pins: ToolPins | None = None,
        only: Collection[str] | None = None,
        effect_of: Callable[[types.Tool], Effect | None] | None = None,
        approval_of: Callable[[types.Tool], bool] | None = None,
        sequential_of: Callable[[types.Tool], bool] | None = None,
        trusted: bool = False,
        make_meta: MakeMeta | None = None,
    ) -> None:
        self.name = name
        self.quarantined: list[str] = []
        """Tools that are not what was accepted, and kept from agents."""
        self.listed: dict[str, str] = {}
        """Every tool the server has, by its own name, with what it says of itself; once it was asked."""
        self._prefix = prefix
        self._pins = ToolPins() if pins is None else pins
        self._only = only
        self._effect_of = effect_of
        self._approval_of = approval_of
        self._sequential_of = sequential_of
        self._trusted = trusted
        self._make_meta = make_meta
        self._for_user = for_user
        self._shared = MCPConnection(name, server.client)
        self._own: OrderedDict[str, MCPConnection] = OrderedDict()

    @property
    def is_per_user(self) -> bool:
        """Whether each user has a connection of their own, and so perhaps other tools than the next."""
        return self._for_user is not None

    async def tools(self, user_id: str | None = None) -> list[MCPTool]:
        """The tools agents may use: those the server has and that are what was accepted.

        Args:
            user_id: With whose credentials to ask, where users have their own.

        Raises:
            NetworkError: The server cannot be reached.
            InvalidToolError: Two of its tools would have the same name.
        """
        listed = await self._list(user_id)
        self.quarantined = self._pins.check(self.name, listed)
        found = [self._tool(tool) for tool in listed if self._is_offered(tool.name)]
        names = [tool.name for tool in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InvalidToolError(
                f"The MCP server {self.name!r} has two tools that would be named {twice!r}; use one of them elsewhere.",
                tool_name=twice,
            )
        return found

    async def accept(self, user_id: str | None = None, *, tool: str | None = None) -> list[str]:
        """Accept tools of the server as they are now; returns the names of those that were quarantined.

        Args:
            user_id: With whose credentials to ask, where users have their own.
            tool: The one to accept, by the server's name; by default all.

        Raises:
            NetworkError: The server cannot be reached.
            InvalidToolError: It has no such tool.
        """
        listed = await self._list(user_id)
        if tool is not None and tool not in self.listed:
            raise InvalidToolError(
                f"MCP server {self.name!r}: {describe_unknown('tool', tool, list(self.listed))}",
                tool_name=tool,
            )
        meant = [described for described in listed if tool in (None, described.name)]
        changed = self._pins.check(self.name, listed)
        self._pins.accept(self.name, meant)
        self.quarantined = self._pins.check(self.name, listed)
        return [name for name in changed if name not in self.quarantined]

    async def aclose(self) -> None:
        """End all sessions with the server."""
        connections = [self._shared, *self._own.values()]
        self._own.clear()
        await asyncio.gather(*(connection.aclose() for connection in connections))

    async def _list(self, user_id: str | None) -> list[types.Tool]:
        listed = await self._connection(user_id).list_tools()
        self.listed = {tool.name: tool.description or "" for tool in listed}
        return listed

    def _is_offered(self, tool: str) -> bool:
        return tool not in self.quarantined and (self._only is None or tool in self._only)

    def _tool(self, described: types.Tool) -> MCPTool:
        return MCPTool(
            described,
            self._connection_for,
            prefix=self._prefix,
            effect=None if self._effect_of is None else self._effect_of(described),
            approval=self._approval_of is not None and self._approval_of(described),
            sequential=self._sequential_of is not None and self._sequential_of(described),
            trusted=self._trusted,
            make_meta=self._make_meta,
        )

    def _connection_for(self, context: ToolContext) -> MCPConnection:
        return self._connection(context.user_id)

    def _connection(self, user_id: str | None) -> MCPConnection:
        if self._for_user is None or user_id is None:
            return self._shared
        if user_id not in self._own:
            self._own[user_id] = MCPConnection(self.name, self._for_user(user_id).client)
            if len(self._own) > _MOST_CONNECTIONS:
                self._own.popitem(last=False)[1].drop()
        self._own.move_to_end(user_id)
        return self._own[user_id]
