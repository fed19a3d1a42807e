"""Tool calls as an editor shows them: a kind, a title, the files they touch, and differences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from acp import schema
from acp.helpers import text_block, tool_content, tool_diff_content

from maverick.model import ToolCall
from maverick.runtime.consent import CallPreview, visible

Content: TypeAlias = (
    schema.ContentToolCallContent | schema.FileEditToolCallContent | schema.TerminalToolCallContent
)

PLAN = "update_plan"
"""The tool whose calls are shown as the agent's plan."""
_LONGEST_TITLE = 200
_MOST_STEPS = 200
_MOST_RESULT = 20_000
_KINDS: Mapping[str, schema.ToolKind] = {
    "read_file": "read",
    "list_files": "search",
    "grep": "search",
    "write_file": "edit",
    "edit_file": "edit",
    "shell": "execute",
    "web_fetch": "fetch",
}
_TITLES: Mapping[str, tuple[str, str]] = {
    "read_file": ("Read", "path"),
    "list_files": ("List", "pattern"),
    "grep": ("Search for", "pattern"),
    "write_file": ("Write", "path"),
    "edit_file": ("Edit", "path"),
    "web_fetch": ("Fetch", "url"),
}
_STATUSES: Mapping[str, schema.PlanEntryStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "done": "completed",
}


def kind_of(call: ToolCall) -> schema.ToolKind:
    """What a call does, for the icon that an editor shows."""
    return _KINDS.get(call.tool_name, "other")


def title_of(call: ToolCall, agents: tuple[str, ...] = ()) -> str:
    """A call in one line.

    Args:
        call: The call.
        agents: The path of the agents that make it; a subagent is named.
    """
    arguments = call.arguments
    if call.tool_name == "shell":
        title = f"`{arguments.get('command', '')}`"
    elif call.tool_name in _TITLES:
        verb, argument = _TITLES[call.tool_name]
        title = f"{verb} {arguments.get(argument, '')}"
    else:
        title = call.tool_name
    line = visible(" ".join(title.split()))[:_LONGEST_TITLE]
    return line if len(agents) < 2 else f"{agents[-1]}: {line}"


def locations_of(call: ToolCall, folder: Path) -> list[schema.ToolCallLocation] | None:
    """The file that a call is about, so that an editor can follow the agent."""
    path, line = call.arguments.get("path"), call.arguments.get("first_line")
    if call.tool_name not in _KINDS or not isinstance(path, str) or "\0" in path:
        return None
    at = line if isinstance(line, int) and line > 0 else None
    return [schema.ToolCallLocation(path=str(folder / path), line=at)]


def content_of(call: ToolCall, folder: Path) -> list[Content] | None:
    """What a call is going to do, if it changes a file: the piece that it replaces, and what by."""
    arguments = call.arguments
    path = str(folder / str(arguments.get("path", "")))
    if call.tool_name == "edit_file":
        new, old = str(arguments.get("new", "")), str(arguments.get("old", ""))
        return [tool_diff_content(path, shown(new), shown(old))]
    if call.tool_name == "write_file":
        return [tool_diff_content(path, shown(str(arguments.get("content", ""))))]
    return None


def preview_content(preview: CallPreview, reason: str, folder: Path) -> list[Content]:
    """All there is to know of a call that the user is asked about."""
    if preview.kind == "edit":
        before = None if preview.before is None else shown(preview.before)
        told: list[Content] = [tool_diff_content(str(folder / preview.path), shown(preview.after), before)]
    else:
        whole = (preview.title,) if len(preview.title) > _LONGEST_TITLE else ()  # the title was cut
        told = [tool_content(text_block("\n".join([*whole, *preview.lines])))]
    return [*told, tool_content(text_block(shown(reason)))] if reason else told


def shown(text: str) -> str:
    """A text with nothing in it that is invisible, or changes the order of what is shown, as a terminal shows it."""
    return "\n".join(
        visible(line.removesuffix("\r")) + "\r" * line.endswith("\r") for line in text.split("\n")
    )


def shown_arguments(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The arguments of a call, with their texts as :func:`shown`."""
    match value:
        case str():
            return shown(value)
        case dict():
            return {shown(str(name)): shown_arguments(one) for name, one in value.items()}
        case list():
            return [shown_arguments(one) for one in value]
    return value


def text_content(text: str) -> list[Content]:
    """The result of a call, or its output so far: its end, if it is long."""
    shown = text if len(text) <= _MOST_RESULT else f"…{text[-_MOST_RESULT:]}"
    return [tool_content(text_block(shown))]


def plan_of(arguments: Mapping[str, Any]) -> list[schema.PlanEntry] | None:
    """The plan that a call of :data:`PLAN` writes down; ``None`` if it is not one, since a model may write anything."""
    steps = arguments.get("steps")
    if not isinstance(steps, list):
        return None
    entries: list[schema.PlanEntry] = []
    for step in steps[:_MOST_STEPS]:
        match step:
            case {"step": str(content), "status": str(status)} if status in _STATUSES:
                entries.append(schema.PlanEntry(content=content, priority="medium", status=_STATUSES[status]))
            case _:
                return None
    return entries
