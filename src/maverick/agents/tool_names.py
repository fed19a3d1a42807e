"""The names of tools and models in Claude Code: which there are, how they are written, and what they are called here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

BUILTIN_TOOLS: frozenset[str] = frozenset({
    "Read", "Write", "Edit", "Bash", "Glob", "Grep", "NotebookEdit", "WebFetch", "WebSearch", "TodoWrite", "BashOutput",
    "KillBash", "Task", "ExitPlanMode", "ListMcpResources", "ReadMcpResource",
})  # fmt: skip
"""The CLI's own tools that any agent may be allowed."""
LATER_TOOLS: frozenset[str] = frozenset({
    "Agent", "AskUserQuestion", "Monitor", "Skill", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop",
    "TaskUpdate", "ToolSearch",
})  # fmt: skip
"""Tools that today's CLI has besides."""

CLAUDE_MODELS: Mapping[str, str] = {
    "sonnet": "claude:claude-sonnet-5-5",
    "opus": "claude:claude-opus-5-5",
    "haiku": "claude:claude-haiku-5-5",
}
"""The models that its agent files name in short."""

CLAUDE_TOOLS: Mapping[str, str] = {
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "Glob": "list_files",
    "LS": "list_files",
    "Grep": "grep",
    "Bash": "shell",
    "WebFetch": "web_fetch",
    "TodoWrite": "update_plan",
}
"""Our tools for those of Claude Code."""

CODING_TOOLS: tuple[str, ...] = tuple(dict.fromkeys(CLAUDE_TOOLS.values()))
"""The tools for coding, which an agent file has by default."""
MEMORY = "memory"
"""The tool for notes, which an agent file can name too."""

_TOOL = re.compile(r"[\w.*-]+")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")  # what the CLI makes an underscore of in a server's name
_ESCAPED = re.compile(r"\\.")


def find_invalid_tool(tools: Iterable[object], servers: Iterable[str]) -> str | None:
    """The first tool that does not exist or is not written as one, in words; ``None`` if each is valid.

    A tool is one of the CLI's, alone or with a rule such as ``Bash(git:*)``, or ``mcp__<server>__<tool>``, or
    ``mcp__<server>`` for all tools of a server.
    """
    prefixes = {prefix for server in servers for prefix in (f"mcp__{server}", server_prefix(server))}
    for tool in tools:
        if not isinstance(tool, str) or not (_is_built_in(tool) or _is_of_a_server(tool, prefixes)):
            return str(tool)
    return None


def server_prefix(server: str) -> str:
    """What the names of all tools of an MCP server begin with in the CLI."""
    return f"mcp__{_NOT_IN_NAMES.sub('_', server)}"


def _is_built_in(tool: str) -> bool:
    name, bracket, rest = tool.partition("(")
    if name not in BUILTIN_TOOLS and name not in LATER_TOOLS:
        return False
    return not bracket or (rest not in {"", ")"} and _closes_at_the_end(rest))


def _closes_at_the_end(rest: str) -> bool:
    """Whether the bracket that was opened before this is closed by its last character and not earlier."""
    depth = 1
    for place, character in enumerate(plain := _ESCAPED.sub("", rest)):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place == len(plain) - 1
    return False


def _is_of_a_server(tool: str, prefixes: Iterable[str]) -> bool:
    return any(
        tool == prefix or (tool.startswith(f"{prefix}__") and _TOOL.fullmatch(tool, len(prefix) + 2))
        for prefix in prefixes
    )


def tools_for(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Our tools for those of Claude Code, and the names of those that have none here."""
    named = list(names)  # "Bash(git:*)" is less than Bash, so it has none
    ours = dict.fromkeys(CLAUDE_TOOLS[name] for name in named if name in CLAUDE_TOOLS)
    return tuple(ours), tuple(name for name in named if name not in CLAUDE_TOOLS)
