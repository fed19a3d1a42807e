"""Tools: the decorator that makes them from functions, and the registry that finds them by name."""

from maverick.tools.function import FunctionTool, tool
from maverick.tools.registry import ToolRegistry

__all__ = ["FunctionTool", "ToolRegistry", "tool"]
