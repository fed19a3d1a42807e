"""The tools of an MCP server, for agents of many users."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import mcp_types as types
from mcp import Client

from maverick.exceptions import InvalidToolError
from maverick.model import Effect, ToolContext
from maverick.tools.mcp.connection import MCPConnection
from maverick.tools.mcp.pins import ToolPins
from maverick.tools.mcp.tool import MakeMeta, MCPTool, OnResult


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
        effect_of: What running a tool again would do; by default what :class:`MCPTool` makes of it.
        make_meta: What the server is told beside the arguments.
        on_result: Told what the server answered.
    """

    def __init__(
        self,
        name: str,
        server: Endpoint,
        *,
        for_user: Callable[[str], Endpoint] | None = None,
        prefix: str = "",
        pins: ToolPins | None = None,
        effect_of: Callable[[types.Tool], Effect | None] | None = None,
        make_meta: MakeMeta | None = None,
        on_result: OnResult | None = None,
    ) -> None:
        self.name = name
        self.quarantined: list[str] = []
        """Tools that are not what was accepted, and kept from agents."""
        self._prefix = prefix
        self._pins = ToolPins() if pins is None else pins
        self._effect_of = effect_of
        self._make_meta = make_meta
        self._on_result = on_result
        self._for_user = for_user
        self._shared = MCPConnection(name, server.client)
        self._own: OrderedDict[str, MCPConnection] = OrderedDict()

    async def tools(self, user_id: str | None = None) -> list[MCPTool]:
        """The tools agents may use: those the server has and that are what was accepted.

        Args:
            user_id: With whose credentials to ask, where users have their own.

        Raises:
            NetworkError: The server can not be reached.
            InvalidToolError: Two of its tools would have the same name.
        """
        listed = await self._connection(user_id).list_tools()
        self.quarantined = self._pins.check(self.name, listed)
        found = [self._tool(tool) for tool in listed if tool.name not in self.quarantined]
        names = [tool.name for tool in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InvalidToolError(
                f"The MCP server {self.name!r} has two tools that would be named {twice!r}; use one of them elsewhere.",
                tool_name=twice,
            )
        return found

    async def accept(self, user_id: str | None = None) -> list[str]:
        """Accept all tools of the server as they are now; returns the names of those that were quarantined."""
        listed = await self._connection(user_id).list_tools()
        accepted = self._pins.check(self.name, listed)
        self._pins.accept(self.name, listed)
        self.quarantined = []
        return accepted

    async def aclose(self) -> None:
        """End all sessions with the server."""
        connections = [self._shared, *self._own.values()]
        self._own.clear()
        for connection in connections:
            await connection.aclose()

    def _tool(self, described: types.Tool) -> MCPTool:
        return MCPTool(
            described,
            self._connection_for,
            prefix=self._prefix,
            effect=None if self._effect_of is None else self._effect_of(described),
            make_meta=self._make_meta,
            on_result=self._on_result,
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
