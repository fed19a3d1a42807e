"""Maverick: one agent runtime for Python.

Everything a user needs by name is here; each name is loaded when it is first used, so that importing the package
costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maverick.config import MaverickConfig
    from maverick.exceptions import AgentError, ErrorKind, MaverickError, RetryOutput
    from maverick.fleet import Fleet as Fleet
    from maverick.journal import PostgresJournal as PostgresJournal
    from maverick.journal import SqliteJournal as SqliteJournal
    from maverick.journal.stored_result import dump_result, load_result
    from maverick.loop import (
        AgentDefinition,
        AgentResult,
        AgentUsage,
        Input,
        InputConfig,
        ModelConfig,
        OutputConfig,
        PromptConfig,
        RunConfig,
        TerminateReason,
        ToolConfig,
        define_agent,
    )
    from maverick.loop.events import (
        AgentActivityEvent,
        ApprovalRequested,
        ContentChunk,
        ErrorEvent,
        PartialOutput,
        RunEnd,
        RunStart,
        Thinking,
        ToolCallEnd,
        ToolCallStart,
        TurnEnd,
        TurnStart,
    )
    from maverick.model import Document, Image, LLMClient, Message, Outcome, Role, Text, ToolContext
    from maverick.model.history import dump_messages, load_messages
    from maverick.providers import connect
    from maverick.providers.foreign_messages import messages_from_anthropic, messages_from_openai
    from maverick.runtime import AbortSignal, AgentExecutor, ApprovalRequest, Fork, run_sync
    from maverick.runtime.hooks import Hooks, Refuse
    from maverick.tools import ToolRegistry, tool

__version__ = "0.1.0"

_HOMES = {
    "maverick.config": ("MaverickConfig",),
    "maverick.exceptions": ("AgentError", "ErrorKind", "MaverickError", "RetryOutput"),
    "maverick.fleet": ("Fleet",),
    "maverick.loop": (
        "AgentDefinition", "AgentResult", "AgentUsage", "Input", "InputConfig", "ModelConfig",
        "OutputConfig", "PromptConfig", "RunConfig", "TerminateReason", "ToolConfig", "define_agent",
    ),
    "maverick.loop.events": (
        "AgentActivityEvent", "ApprovalRequested", "ContentChunk", "ErrorEvent", "PartialOutput", "RunEnd",
        "RunStart", "Thinking", "ToolCallEnd", "ToolCallStart", "TurnEnd", "TurnStart",
    ),
    "maverick.journal": ("PostgresJournal", "SqliteJournal"),
    "maverick.journal.stored_result": ("dump_result", "load_result"),
    "maverick.model": ("Document", "Image", "LLMClient", "Message", "Outcome", "Role", "Text", "ToolContext"),
    "maverick.model.history": ("dump_messages", "load_messages"),
    "maverick.providers": ("connect",),
    "maverick.providers.foreign_messages": ("messages_from_anthropic", "messages_from_openai"),
    "maverick.runtime": ("AbortSignal", "AgentExecutor", "ApprovalRequest", "Fork", "run_sync"),
    "maverick.runtime.hooks": ("Hooks", "Refuse"),
    "maverick.tools": ("ToolRegistry", "tool"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

# Without what loads a database's driver: `import *` would load it.
__all__ = [
    "AbortSignal", "AgentActivityEvent", "AgentDefinition", "AgentError", "AgentExecutor", "AgentResult",
    "AgentUsage", "ApprovalRequest", "ApprovalRequested", "ContentChunk", "Document", "ErrorEvent",
    "ErrorKind", "Fork", "Hooks", "Image", "Input", "InputConfig", "LLMClient", "MaverickConfig",
    "MaverickError", "Message", "ModelConfig", "Outcome", "OutputConfig", "PartialOutput", "PromptConfig",
    "Refuse", "RetryOutput", "Role", "RunConfig", "RunEnd", "RunStart", "TerminateReason", "Text", "Thinking",
    "ToolCallEnd", "ToolCallStart", "ToolConfig", "ToolContext", "ToolRegistry", "TurnEnd", "TurnStart",
    "connect", "define_agent", "dump_messages", "dump_result", "load_messages", "load_result",
    "messages_from_anthropic", "messages_from_openai", "run_sync", "tool",
]  # fmt: skip


if not TYPE_CHECKING:  # else any name would be one to a type checker

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise _unknown(name)
        value = getattr(import_module(_HOME_OF[name]), name)
        globals()[name] = value
        return value


def _unknown(name: str) -> Exception:
    import sys

    plain = AttributeError(f"module 'maverick' has no attribute {name!r}")
    if name.startswith("_"):  # what tools look for in any module
        return plain
    is_imported = sys._getframe(2).f_code.co_name == "_handle_fromlist"  # noqa: SLF001 - of `from maverick import …`
    if is_imported:
        from importlib.util import find_spec

        if find_spec(f"maverick.{name}") is not None:
            return plain  # and Python imports the module
    from maverick.misuse import explain_name

    text = explain_name(name, [*_HOME_OF])
    # Of another error Python would make its own, without these words.
    return ImportError(text, name="maverick") if is_imported else AttributeError(text)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
