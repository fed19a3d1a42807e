"""Tools by name, for definitions that name them instead of holding them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from maverick.exceptions import InvalidToolError
from maverick.loop.definition import check_tool
from maverick.model import Tool
from maverick.tools.function import FunctionTool


class ToolRegistry:
    """Tools under unique names.

    Args:
        tools: Tools to begin with.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Add a tool, or a function as one; also usable as a decorator.

        Raises:
            InvalidToolError: It is no tool, or its name is taken.
        """
        made: Tool = tool if isinstance(tool, Tool) else FunctionTool(tool)
        name = check_tool("register", made)
        if name in self._tools:
            raise InvalidToolError(
                f"A tool named {name!r} is already registered; give this one another name.", tool_name=name
            )
        self._tools[name] = made
        return made

    def get(self, name: str) -> Tool:
        """The tool of this name.

        Raises:
            InvalidToolError: There is none; the message names the nearest.
        """
        try:
            return self._tools[name]
        except KeyError:
            raise InvalidToolError(tool_name=name, available_tools=list(self._tools)) from None

    def unregister(self, name: str) -> None:
        """Remove a tool.

        Raises:
            InvalidToolError: There is none of this name.
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
