"""Tools: the decorator that makes them from functions, the registry that finds them by name, and tools for coding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maverick.misuse import load_on_use
from maverick.tools.function import FunctionTool, tool
from maverick.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from maverick.tools.coding.toolbox import coding_tools
    from maverick.tools.coding.workspace import Workspace
    from maverick.tools.memory import memory_tool
    from maverick.tools.permissions import Permissions, load_permissions

__all__ = [
    "FunctionTool", "Permissions", "ToolRegistry", "Workspace", "coding_tools", "load_permissions",
    "memory_tool", "tool",
]  # fmt: skip

_HOMES = {
    "Permissions": "maverick.tools.permissions",
    "Workspace": "maverick.tools.coding.workspace",
    "coding_tools": "maverick.tools.coding.toolbox",
    "load_permissions": "maverick.tools.permissions",
    "memory_tool": "maverick.tools.memory",
}


if not TYPE_CHECKING:  # else any name would be one to a type checker
    __getattr__ = load_on_use(__name__, _HOMES)
