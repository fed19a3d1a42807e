"""A tool of an MCP server, as a tool of an agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import mcp_types as types
import msgspec

from maverick.exceptions import ToolError
from maverick.model import Effect, StructuredResult, ToolContext
from maverick.tools.mcp.connection import MCPConnection
from maverick.tools.permissions.mode import Access

FindConnection: TypeAlias = Callable[[ToolContext], MCPConnection]
"""Says over which connection a call is made; each user may have their own."""
MakeMeta: TypeAlias = Callable[[ToolContext], Mapping[str, Any]]
"""Says what a server is told beside the arguments."""

SEQUENTIAL = "maverick/sequential"
"""Where a server says, in the ``_meta`` of a tool, that calls of it run one after the other."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


class MCPTool:
    """A tool of an MCP server.

    Args:
        described: What the server says of it.
        find_connection: Over which connection to call it.
        prefix: What its name begins with for the model, to keep servers apart.
        effect: What running it again would do; by default what the server says of read-only tools, and irreversible.
        approval: Whether a person has to agree to each call.
        sequential: Whether a call runs alone, in its place in the turn; also if the server says so of the tool, with
            ``maverick/sequential`` in its ``_meta``.
        trusted: Whether its answers are taken for words of the user; by default they are marked as somebody else's.
        make_meta: What the server is told beside the arguments.
    """

    def __init__(
        self,
        described: types.Tool,
        find_connection: FindConnection,
        *,
        prefix: str = "",
        effect: Effect | None = None,
        approval: bool = False,
        sequential: bool = False,
        trusted: bool = False,
        make_meta: MakeMeta | None = None,
    ) -> None:
        self.remote_name = described.name
        """What the server calls it."""
        self.name = _NOT_IN_NAMES.sub("_", f"{prefix}{described.name}")
        self.description = described.description or described.title or ""
        self.parameters: Mapping[str, Any] = {"type": "object", **described.input_schema}
        hints = described.annotations
        says_so = hints is not None and bool(hints.read_only_hint)
        self.effect = effect or (Effect.PURE if says_so else Effect.IRREVERSIBLE)
        self.approval = approval
        self.sequential = sequential or (described.meta or {}).get(SEQUENTIAL) is True
        self.untrusted = not trusted
        self.access = Access.NETWORK if self.effect is Effect.PURE else Access.EXECUTE
        """How far it reaches: whatever a server says of itself, asking it tells it something."""
        self._find_connection = find_connection
        self._make_meta = make_meta

    async def execute(
        self, args: dict[str, Any], context: ToolContext | None = None, /
    ) -> str | StructuredResult:
        """Call it, and return the text of what it answers; from a trusted server with its data, if it has any.

        Raises:
            ToolError: It failed; the words are the server's.
            NetworkError: The server went away.
        """
        if context is None:
            raise ToolError(
                f"{self.name} acts for the user of a run, and can only be called in one.", tool_name=self.name
            )
        result = await self._find_connection(context).call_tool(
            self.remote_name,
            args,
            meta=None if self._make_meta is None else self._make_meta(context),
            within=max(context.deadline - asyncio.get_running_loop().time(), 0.001),
            again=self.effect is not Effect.IRREVERSIBLE,
        )
        text = _text_of(result)
        if result.structured_content is not None and not self.untrusted:
            return StructuredResult(text, result.structured_content, is_error=bool(result.is_error))
        if result.is_error:
            raise ToolError(text or f"{self.name} failed and did not say why.", tool_name=self.name)
        return text

    def __repr__(self) -> str:
        return f"<MCP tool {self.name}>"


def _text_of(result: types.CallToolResult) -> str:
    pieces = [_piece(block) for block in result.content]
    if not pieces and result.structured_content is not None:
        return msgspec.json.encode(result.structured_content).decode()
    return "\n".join(pieces)


def _piece(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent(text=text):
            return text
        case types.EmbeddedResource(resource=types.TextResourceContents(text=text)):
            return text
        case types.ResourceLink(uri=uri):
            return str(uri)
    return f"[{block.type}]"
