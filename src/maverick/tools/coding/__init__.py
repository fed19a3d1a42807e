"""Tools with which an agent works on a folder: files, search, a shell, the web, a plan."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maverick.tools.coding.toolbox import CodingTool, coding_tools
    from maverick.tools.coding.workspace import Workspace

_HOMES = {
    "CodingTool": "maverick.tools.coding.toolbox",
    "Workspace": "maverick.tools.coding.workspace",
    "coding_tools": "maverick.tools.coding.toolbox",
}

__all__ = ["CodingTool", "Workspace", "coding_tools"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in _HOMES:
        raise AttributeError(f"module 'maverick.tools.coding' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
