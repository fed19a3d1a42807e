"""A chat agent over a task server: stateless, one user at a time, in words people use.

Each name is loaded when it is first used, since the database and MCP are heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from maverick.config.installation import extra_needed

if TYPE_CHECKING:
    from maverick.chat.contract import (
        AgentContext,
        AgentResult,
        AnswerTimeoutError,
        MessageHistory,
        ToolCallRecord,
    )
    from maverick.chat.database import Database, get_session
    from maverick.chat.runner import AgentRunner
    from maverick.chat.tool_server import MCPToolServer

_HOME_OF = {
    "AgentContext": "maverick.chat.contract",
    "AgentResult": "maverick.chat.contract",
    "AgentRunner": "maverick.chat.runner",
    "AnswerTimeoutError": "maverick.chat.contract",
    "Database": "maverick.chat.database",
    "MCPToolServer": "maverick.chat.tool_server",
    "MessageHistory": "maverick.chat.contract",
    "ToolCallRecord": "maverick.chat.contract",
    "get_session": "maverick.chat.database",
}

__all__ = [
    "AgentContext",
    "AgentResult",
    "AgentRunner",
    "AnswerTimeoutError",
    "Database",
    "MCPToolServer",
    "MessageHistory",
    "ToolCallRecord",
    "get_session",
]


if not TYPE_CHECKING:  # else any name would be one to a type checker

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'maverick.chat' has no attribute {name!r}")
        with extra_needed("chat", "maverick.chat"):
            value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
