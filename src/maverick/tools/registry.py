"""Tools by name, for definitions that name them instead of holding them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from maverick.exceptions import InvalidToolError
from maverick.loop.config import check_tool
from maverick.model import Tool
from maverick.model.tool import is_tool
from maverick.tools.function import FunctionTool


class ToolRegistry:
    """Tools under unique names.

    Args:
        tools: Tools to begin with.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._groups: dict[str, tuple[Tool, ...]] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Add a tool, or a function as one; also usable as a decorator.

        Raises:
            InvalidToolError: It is not a tool, or its name is taken.
        """
        made: Tool = tool if is_tool(tool) else FunctionTool(tool)
        name = check_tool("register", made)
        if name in self._tools:
            raise InvalidToolError(
                f"A tool named {name!r} is already registered. Give this one another name.", tool_name=name
            )
        self._tools[name] = made
        return made

    def register_group(self, name: str, tools: Iterable[Tool]) -> None:
        """Add tools, and a name that stands for all of them, such as ``mcp__github`` for the tools of a server.

        Raises:
            InvalidToolError: One of them is not a tool, or a name is taken.
        """
        if name in self._groups or name in self._tools:
            raise InvalidToolError(
                f"{name!r} is already registered. Give these another name.", tool_name=name
            )
        self._groups[name] = tuple(self.register(tool) for tool in tools)

    def find(self, name: str) -> Sequence[Tool]:
        """What a name stands for: the tools of a group, or one tool.

        Raises:
            InvalidToolError: It is unknown; the message names the nearest.
        """
        return self._groups[name] if name in self._groups else (self.get(name),)

    def get(self, name: str) -> Tool:
        """The tool of this name.

        Raises:
            InvalidToolError: There is no such tool; the message names the nearest.
        """
        try:
            return self._tools[name]
        except KeyError:
            known = [*self._tools, *self._groups]
            raise InvalidToolError(tool_name=name, available_tools=known) from None

    def unregister(self, name: str) -> None:
        """Remove a tool.

        Raises:
            InvalidToolError: There is no such tool.
        """
        self.get(name)
        del self._tools[name]

    def list_tools(self) -> list[str]:
        """The names of all tools, in alphabetical order."""
        return sorted(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)
