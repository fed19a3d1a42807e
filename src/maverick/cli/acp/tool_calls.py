"""Tool calls as an editor shows them: a kind, a title, the files they touch, and differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from acp import schema
from acp.helpers import text_block, tool_content, tool_diff_content

from maverick.model import ToolCall
from maverick.runtime.approver import ApprovalRequest
from maverick.runtime.consent import CallPreview, GrantScope, visible

Content: TypeAlias = (
    schema.ContentToolCallContent | schema.FileEditToolCallContent | schema.TerminalToolCallContent
)

ALLOW, _REJECT = "allow", "reject"
_FOR = {GrantScope.SESSION: "this session", GrantScope.PROJECT: "this project"}
PLAN = "update_plan"
"""The tool whose calls are shown as the agent's plan."""
_LONGEST_TITLE = 200
_MOST_STEPS = 200
_MOST_RESULT = 20_000
_KINDS: Mapping[str, tuple[schema.ToolKind, str, str]] = {
    "read_file": ("read", "Read", "path"),
    "list_files": ("search", "List", "pattern"),
    "grep": ("search", "Search for", "pattern"),
    "write_file": ("edit", "Write", "path"),
    "edit_file": ("edit", "Edit", "path"),
    "shell": ("execute", "", "command"),
    "web_fetch": ("fetch", "Fetch", "url"),
}
"""What a tool does, for the icon that an editor shows; and its title, as a verb and an argument."""
_STATUSES: Mapping[str, schema.PlanEntryStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "done": "completed",
}


def call_key(run_id: str, call_id: str) -> str:
    """The id of a tool call in an editor: models number their calls, and a session has many runs."""
    return f"{run_id}:{call_id}"


def kind_of(call: ToolCall) -> schema.ToolKind:
    """What a call does, for the icon that an editor shows."""
    return _KINDS[call.tool_name][0] if call.tool_name in _KINDS else "other"


def title_of(call: ToolCall, agents: tuple[str, ...] = ()) -> str:
    """A call in one line, with the name of the subagent if one makes it."""
    title = call.tool_name
    if title in _KINDS:
        _, verb, argument = _KINDS[title]
        value = call.arguments.get(argument, "")
        title = f"{verb} {value}" if verb else f"`{value}`"
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


def requested_call(request: ApprovalRequest, preview: CallPreview, folder: Path) -> schema.ToolCallUpdate:
    """A call that the user is asked about."""
    call = ToolCall(request.call_id, request.tool_name, request.arguments)
    return schema.ToolCallUpdate(
        tool_call_id=call_key(request.run_id, request.call_id),
        title=title_of(call, request.agent),
        kind=kind_of(call),
        status="pending",
        content=preview_content(preview, request.reason, folder),
        locations=locations_of(call, folder),
        raw_input=shown_arguments(request.arguments),
    )


def permission_options(preview: CallPreview, scopes: Iterable[GrantScope]) -> list[schema.PermissionOption]:
    """What the user can answer."""
    always = (
        schema.PermissionOption(
            option_id=scope, name=f"Always allow {preview.always} ({_FOR[scope]})", kind="allow_always"
        )
        for scope in scopes
    )
    return [
        schema.PermissionOption(option_id=ALLOW, name="Allow", kind="allow_once"),
        *always,
        schema.PermissionOption(option_id=_REJECT, name="Reject", kind="reject_once"),
    ]


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
