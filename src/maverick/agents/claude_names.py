"""What Claude Code calls things, and what they are called here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

CLAUDE_MODELS: Mapping[str, str] = {
    "sonnet": "claude:claude-sonnet-5-5",
    "opus": "claude:claude-opus-5-5",
    "haiku": "claude:claude-haiku-5-5",
}
"""The models that its agent files name in short."""

_CLAUDE_TOOLS: Mapping[str, str] = {
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

CODING_TOOLS: tuple[str, ...] = tuple(dict.fromkeys(_CLAUDE_TOOLS.values()))
"""The tools an agent file can name."""


def tools_for(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Our tools for those of Claude Code, and the names of those that have none here."""
    ours: dict[str, None] = {}
    missing: list[str] = []
    for name in names:
        tool = _CLAUDE_TOOLS.get(name)  # "Bash(git:*)" is less than Bash, so it has none
        if tool is None:
            missing.append(name)
        else:
            ours[tool] = None
    return tuple(ours), tuple(missing)
