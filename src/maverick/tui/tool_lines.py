"""A tool call on the screen: one line when it is collapsed, with arguments and result when it is expanded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from maverick.loop.result import ToolOutcome
from maverick.runtime.consent import visible
from maverick.tui.block import HUNK, LineStyle, ToolState, ToolUse
from maverick.tui.figures import duration
from maverick.tui.plain_text import one_line, plain
from maverick.tui.renderer import Renderer

_MARGIN = "  │ "
_LAST_LINES = 5
"""How many lines of a running tool's output are shown."""
_NOT_RUN = "Not run: "
_PLAN = "update_plan"
"""The tool whose calls are shown as the agent's plan."""
_MARKS = {"done": "✓", "in_progress": "▸", "pending": "○"}
_SUMMARY = 300
"""How many characters of an argument are looked at for a summary in one line."""


def tool_lines(tool: ToolUse, width: int, renderer: Renderer) -> Iterator[Text]:
    """The lines of a tool call."""
    inner = width - len(_MARGIN)
    yield _head(tool, width)
    if tool.state is ToolState.RUNNING and tool.output:
        yield from _beside(renderer.wrap(tool.output.rstrip("\n"), inner, LineStyle.DIM)[-_LAST_LINES:])
    if tool.folded:
        yield from _beside(_shown_folded(tool, inner, renderer))
        return
    if tool.question:
        yield from _beside(renderer.wrap(tool.question, inner, LineStyle.ASKING))
    yield from _beside(argument_lines(tool.arguments, inner, renderer))
    if tool.decision:
        yield Text.assemble(("  ├─ ", LineStyle.DIM), (plain(tool.decision), LineStyle.ASKING))
    if tool.state is ToolState.OVER:
        text = (tool.outcome or ToolOutcome.UNKNOWN).value
        if tool.outcome is not ToolOutcome.DENIED:
            text += f" after {duration(tool.duration_ms / 1000)}"
        yield Text.assemble(("  ├─ ", LineStyle.DIM), (text, _state_style(tool)))
        lines = plain(tool.result).removesuffix("\n").split("\n")
        for line, style in zip(lines, diff_styles(lines), strict=True):
            yield from _beside(renderer.wrap(line, inner, style))


def argument_lines(arguments: dict[str, Any], width: int, renderer: Renderer) -> Iterator[Text]:
    """The arguments in full, with nothing invisible in them, since users approve what they read here."""
    for name, value in arguments.items():
        written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
        shown, label = plain("\n".join(map(visible, written.split("\n")))), plain(visible(name))
        if "\n" not in shown and cell_len(label) + 2 + cell_len(shown) <= width:
            yield Text.assemble((f"{label}: ", LineStyle.DIM), shown)
            continue
        yield Text.assemble((f"{label}:", LineStyle.DIM))
        for line in renderer.wrap(shown, width - 2):
            line.pad_left(2)
            yield line


def diff_styles(lines: Iterable[str]) -> Iterator[LineStyle]:
    """The style of each line of a text that may have unified diffs in it.

    A hunk says how many lines it has, so that a removed line that looks like the head of a file is not taken for one.
    """
    old = new = 0
    for line in lines:
        if old > 0 or new > 0:
            old -= not line.startswith("+")
            new -= not line.startswith("-")
            yield {"+": LineStyle.ADDED, "-": LineStyle.REMOVED}.get(line[:1], LineStyle.PLAIN)
        elif hunk := HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in hunk.groups())
            yield LineStyle.HUNK
        else:
            yield LineStyle.HUNK if line.startswith(("--- ", "+++ ")) else LineStyle.PLAIN


def _beside(lines: Iterable[Text]) -> Iterator[Text]:
    return (Text.assemble((_MARGIN, LineStyle.DIM), line) for line in lines)


def _head(tool: ToolUse, width: int) -> Text:
    state = _state(tool)
    head = Text.assemble(
        ("▸ " if tool.folded else "▾ ", LineStyle.DIM),
        (one_line(tool.name), LineStyle.TOOL),
        (f" {_summary(tool.arguments)}" if tool.folded and not _steps(tool) else "", LineStyle.DIM),
    )
    head.truncate(max(width - cell_len(state) - 1, 0), overflow="ellipsis", pad=True)
    return Text.assemble(head, " ", (state, _state_style(tool)))


def _summary(arguments: dict[str, Any]) -> str:
    """The arguments in a line."""
    short = {name: one_line(str(value)[:_SUMMARY]) for name, value in arguments.items()}
    return ", ".join(
        value if len(short) == 1 else f"{one_line(name)}={value}" for name, value in short.items()
    )


def _shown_folded(tool: ToolUse, width: int, renderer: Renderer) -> Iterator[Text]:
    """What is shown of a collapsed call besides its head: the steps of a plan, and why it was not run."""
    for status, step in _steps(tool):
        line = Text(f"{_MARKS[status]} {one_line(step)}", LineStyle.DIM if status == "done" else "")
        line.truncate(width, overflow="ellipsis")
        yield line
    if tool.outcome is ToolOutcome.DENIED:
        yield from renderer.wrap(one_line(tool.result.removeprefix(_NOT_RUN)), width, LineStyle.DIM)


def _steps(tool: ToolUse) -> list[tuple[str, str]]:
    """The steps of a plan, each after its status; none if the call writes down no plan, or not as it should."""
    found: list[tuple[str, str]] = []
    steps = tool.arguments.get("steps") if tool.name == _PLAN else None
    for step in steps if isinstance(steps, list) else ():
        match step:
            case {"step": str(words), "status": str(status)} if status in _MARKS:
                found.append((status, words))
            case _:
                return []
    return found


def _state(tool: ToolUse) -> str:
    if tool.state is ToolState.ASKED:
        return "? needs approval"
    if tool.state is ToolState.RUNNING:
        return "… running"
    if tool.outcome is ToolOutcome.DENIED:
        return "✗ denied" if tool.decision.startswith("denied") else "✗ not run"
    decided = f"{tool.decision.partition(' ')[0]}, " if tool.decision else ""
    return f"{'✗' if tool.is_failure else '✓'} {decided}{duration(tool.duration_ms / 1000)}"


def _state_style(tool: ToolUse) -> LineStyle:
    if tool.state is ToolState.ASKED:
        return LineStyle.ASKING
    if tool.state is ToolState.RUNNING:
        return LineStyle.DIM
    return LineStyle.BAD if tool.is_failure else LineStyle.GOOD
