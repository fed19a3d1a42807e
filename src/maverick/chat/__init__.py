"""A chat agent over a task server: stateless, one user at a time, in words people use.

Each name is loaded when it is first used, since the database and MCP are heavy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from maverick.config.installation import extra_needed
from maverick.misuse import load_on_use

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
    "AgentContext", "AgentResult", "AgentRunner", "AnswerTimeoutError", "Database", "MCPToolServer",
    "MessageHistory", "ToolCallRecord", "get_session",
]  # fmt: skip


if not TYPE_CHECKING:  # else any name would be one to a type checker
    __getattr__ = load_on_use(__name__, _HOME_OF, lambda: extra_needed("chat", __name__))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
