"""The tools of an MCP server, for agents of many users, and what they were when they were accepted.

A server can change what its tools say after a person has looked at them, and a model believes what it reads. What a
tool says of its harmlessness (``readOnlyHint`` and the like) decides what it may do without asking. So a tool whose
description, schema or hints are not what was accepted is kept from agents until a person accepts it again.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, Self

import mcp_types as types
import msgspec
from mcp import Client

from maverick.config.trust import AcceptedHashes
from maverick.exceptions import InvalidInputError, InvalidToolError, ToolError, describe_unknown
from maverick.model import Document, Effect, Image, StructuredResult, ToolContext
from maverick.model.media import MAX_BYTES, media_from_bytes
from maverick.model.message import describe_part, parts_of
from maverick.tools.mcp.connection import MCPConnection
from maverick.tools.permissions.policy import Access

SEQUENTIAL = "maverick/sequential"
"""Where a server says, in the ``_meta`` of a tool, that calls of it run one after the other."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9_.-]")
_MOST_CONNECTIONS = 64
"""How many users' connections are kept open; the least recently used makes room."""


class Endpoint(Protocol):
    """A place where an MCP server answers; a :class:`ServerAddress` is one."""

    def client(self) -> Client:
        """A client of the server, not connected yet."""
        ...


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
        """The names of tools that are not what was accepted; tools of an unknown server are accepted."""
        tools = list(tools)
        known = self._accepted.of(self._owner(server))
        if known is None:
            self.accept(server, tools)
            return []
        # Earlier versions did not look at the hints of a tool. From now on they count.
        if earlier := [tool for tool in tools if known.get(tool.name) == _hash(_said(tool))]:
            self.accept(server, earlier)
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


def _said(tool: types.Tool) -> list[object]:
    return [tool.name, tool.title, tool.description, tool.input_schema]


def _hash(said: list[object]) -> str:
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()


class MCPToolset:
    """The tools of an MCP server.

    Args:
        name: What the server is called; its accepted tools are remembered under it.
        server: Where it answers.
        for_user: Where it answers a certain user, with that user's credentials; each then has a connection of their own.
        prefix: What the names of its tools begin with for the model.
        pins: What its tools were when they were accepted; by default, that is when they are first seen.
        only: The tools agents may use, by the server's names; by default all of them.
        effect_of: The effect of a tool; by default pure if the server says that it only reads, else irreversible.
        approval_of: Whether a person has to agree to each call of a tool; by default not.
        sequential_of: Whether calls of a tool run one after the other; by default what the server says.
        trusted: Whether what its tools answer is trusted; by default it is marked as untrusted content.
        make_meta: What the server is told beside the arguments of a call.
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
        effect_of: Callable[[types.Tool], Effect | None] = lambda _: None,
        approval_of: Callable[[types.Tool], bool] = lambda _: False,
        sequential_of: Callable[[types.Tool], bool] = lambda _: False,
        trusted: bool = False,
        make_meta: Callable[[ToolContext], Mapping[str, Any]] | None = None,
    ) -> None:
        self.name = name
        self.prefix = prefix
        self.effect_of = effect_of
        self.approval_of = approval_of
        self.sequential_of = sequential_of
        self.trusted = trusted
        self.make_meta = make_meta
        self.quarantined: list[str] = []
        """Tools that are not what was accepted, and kept from agents."""
        self.listed: dict[str, str] = {}
        """Every tool the server has, by its own name, with its description; once it was asked."""
        self.may_ask = any(getattr(server, name, None) for name in ("elicitation", "sampling"))
        """Whether the server may ask a person something in the middle of a call."""
        self._pins = ToolPins() if pins is None else pins
        self._only = only
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
        wanted = self.listed if self._only is None else self._only
        offered = [tool for tool in listed if tool.name in wanted and tool.name not in self.quarantined]
        found = [MCPTool(tool, self) for tool in offered]
        names = [tool.name for tool in found]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise InvalidToolError(
                f"The MCP server {self.name!r} has two tools that would be named {twice!r}. Use one of them elsewhere.",
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
            problem = f"MCP server {self.name!r}: {describe_unknown('tool', tool, list(self.listed))}"
            raise InvalidToolError(problem, tool_name=tool)
        changed = self._pins.check(self.name, listed)
        self._pins.accept(self.name, [each for each in listed if tool in (None, each.name)])
        self.quarantined = self._pins.check(self.name, listed)
        return [name for name in changed if name not in self.quarantined]

    async def aclose(self) -> None:
        """End all sessions with the server."""
        connections = [self._shared, *self._own.values()]
        self._own.clear()
        await asyncio.gather(*(connection.aclose() for connection in connections))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def connection(self, user_id: str | None) -> MCPConnection:
        """The connection that a user's calls go over."""
        if self._for_user is None or user_id is None:
            return self._shared
        if user_id not in self._own:
            self._own[user_id] = MCPConnection(self.name, self._for_user(user_id).client)
            if len(self._own) > _MOST_CONNECTIONS:
                self._own.popitem(last=False)[1].drop()
        self._own.move_to_end(user_id)
        return self._own[user_id]

    async def _list(self, user_id: str | None) -> list[types.Tool]:
        listed = await self.connection(user_id).list_tools()
        self.listed = {tool.name: tool.description or "" for tool in listed}
        return listed


class MCPTool:
    """A tool of an MCP server; :meth:`MCPToolset.tools` makes them."""

    def __init__(self, described: types.Tool, toolset: MCPToolset) -> None:
        hints = described.annotations
        only_reads = hints is not None and bool(hints.read_only_hint)
        self.remote_name = described.name
        """What the server calls it."""
        self.server = toolset.name
        self.name = _NOT_IN_NAMES.sub("_", f"{toolset.prefix}{described.name}")
        self.description = described.description or described.title or ""
        self.parameters: Mapping[str, Any] = {"type": "object", **described.input_schema}
        self.effect = toolset.effect_of(described) or (Effect.PURE if only_reads else Effect.IRREVERSIBLE)
        self.approval = toolset.approval_of(described)
        self.sequential = toolset.sequential_of(described) or (described.meta or {}).get(SEQUENTIAL) is True
        self.untrusted = not toolset.trusted
        self.access = Access.NETWORK if self.effect is Effect.PURE else Access.EXECUTE
        """How far it reaches: whatever a server says of itself, asking it tells it something."""
        self._toolset = toolset

    async def execute(
        self, args: dict[str, Any], context: ToolContext | None = None, /
    ) -> str | list[str | Image | Document] | StructuredResult:
        """Call it, and return what it answers: text, images, documents; from a trusted server with its data, if any.

        Raises:
            ToolError: It failed; the words are the server's.
            NetworkError: The server went away.
        """
        if context is None:
            raise ToolError(
                f"{self.name} acts for the user of a run, and can only be called in one.", tool_name=self.name
            )
        toolset = self._toolset
        result = await toolset.connection(context.user_id).call_tool(
            self.remote_name,
            args,
            meta=None if toolset.make_meta is None else toolset.make_meta(context),
            # The time that a person takes to answer the server does not count, so that its caller has to end the call.
            within=None
            if toolset.may_ask
            else max(context.deadline - asyncio.get_running_loop().time(), 0.001),
            again=self.effect is not Effect.IRREVERSIBLE,
        )
        pieces = [piece_of(block) for block in result.content]
        text = "\n".join(piece if isinstance(piece, str) else describe_part(piece) for piece in pieces)
        if not pieces and result.structured_content is not None:
            text = msgspec.json.encode(result.structured_content).decode()
        media = any(not isinstance(piece, str) for piece in pieces)
        if result.structured_content is not None and not self.untrusted:
            parts = parts_of(pieces) if media else ()
            return StructuredResult(text, result.structured_content, bool(result.is_error), parts)
        if result.is_error:
            raise ToolError(text or f"{self.name} failed and did not say why.", tool_name=self.name)
        return pieces if media else text

    def __repr__(self) -> str:
        return f"<MCP tool {self.name}>"


def piece_of(block: types.ContentBlock) -> str | Image | Document:
    """What a block of content is here: text, an image, or a document."""
    match block:
        case types.TextContent(text=text):
            return text
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case types.EmbeddedResource(resource=types.BlobResourceContents(uri=uri, blob=data)):
            return _media(data, str(uri).rpartition("/")[2], media_from_bytes)
        case types.ImageContent(data=data):
            return _media(data, "image", Image.from_bytes)
        case types.ResourceLink(uri=uri):
            return str(uri)
    return f"[{block.type}]"


def _media(encoded: str, name: str, make: Callable[..., Image | Document]) -> str | Image | Document:
    """The image or document that a server sent, or why it is left out: a wrong one is no reason to lose the call."""
    name = _NOT_IN_FILE_NAMES.sub("_", name)[:100] or "content"
    try:
        # One character more than the largest has is enough to find that it is too large.
        return make(b64decode(encoded[: MAX_BYTES * 4 // 3 + 8]), name=name)
    except (ValueError, InvalidInputError) as error:
        return f"[left out: {error}]"
