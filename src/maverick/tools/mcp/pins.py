"""What the tools of MCP servers said they are when they were first accepted.

A server can change what its tools say after a person has looked at them, and a model believes what it reads. What a
tool says of its harmlessness (``readOnlyHint`` and the like) decides what it may do without being asked about. So a tool
whose description, schema or hints are not what was accepted is kept from agents until somebody accepts it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import mcp_types as types
import msgspec

from maverick.config.accepted_hashes import AcceptedHashes


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
