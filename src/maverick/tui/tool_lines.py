"""A tool call on the screen: in one line when it is folded, with arguments and result when it is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len

from maverick.loop.result import ToolOutcome
from maverick.tui.block import ToolState, ToolUse
from maverick.tui.diff import DiffLine, read_diff
from maverick.tui.gauge import duration
from maverick.tui.line import Ink, Line, Span
from maverick.tui.plain_text import one_line, plain, visible
from maverick.tui.wrapping import cut, wrapped

_DIFF_INKS = {
    DiffLine.ADDED: Ink.ADDED,
    DiffLine.REMOVED: Ink.REMOVED,
    DiffLine.HUNK: Ink.HUNK,
    DiffLine.FILE: Ink.HUNK,
    DiffLine.CONTEXT: Ink.PLAIN,
}
_MARGIN = "  │ "
_LAST_LINES = 5
"""How many lines of what a tool says are shown while it runs."""
_FIRST_LOOK = 300
"""How many characters of an argument are looked at for a line."""


def tool_lines(tool: ToolUse, width: int) -> Iterator[Line]:
    """The lines of a tool call."""
    yield _head(tool, width)
    if tool.state is ToolState.RUNNING and tool.output:
        for text in wrapped(plain(tool.output).rstrip("\n"), width - len(_MARGIN))[-_LAST_LINES:]:
            yield Line((Span(_MARGIN, Ink.FAINT), Span(text, Ink.FAINT)))
    if tool.folded:
        return
    if tool.question:
        for text in wrapped(plain(tool.question), width - len(_MARGIN)):
            yield Line((Span(_MARGIN, Ink.FAINT), Span(text, Ink.ASKING)))
    for line in argument_lines(tool.arguments, width - len(_MARGIN)):
        yield Line((Span(_MARGIN, Ink.FAINT), *line.spans))
    if tool.decision:
        yield Line((Span("  ├─ ", Ink.FAINT), Span(plain(tool.decision), Ink.ASKING)))
    if tool.state is ToolState.OVER:
        yield Line((Span("  ├─ ", Ink.FAINT), Span(_outcome_words(tool), _outcome_ink(tool))))
        for line in result_lines(tool.result, width - len(_MARGIN)):
            yield Line((Span(_MARGIN, Ink.FAINT), *line.spans))


def argument_lines(arguments: dict[str, Any], width: int) -> Iterator[Line]:
    """The arguments in full, nothing in them unseen, since people decide on what they read here."""
    for name, value in arguments.items():
        written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
        shown, label = visible(written), visible(name)
        if "\n" not in shown and cell_len(label) + 2 + cell_len(shown) <= width:
            yield Line((Span(f"{label}: ", Ink.FAINT), Span(shown, Ink.PLAIN)))
            continue
        yield Line((Span(f"{label}:", Ink.FAINT),))
        for text in wrapped(shown, width - 2):
            yield Line((Span("  ", Ink.PLAIN), Span(text, Ink.PLAIN)))


def result_lines(result: str, width: int) -> Iterator[Line]:
    """A result in full, differences coloured."""
    lines = plain(result).removesuffix("\n").split("\n")
    for line, kind in zip(lines, read_diff(lines), strict=True):
        ink = Ink.PLAIN if kind is None else _DIFF_INKS[kind]
        for text in wrapped(line, width):
            yield Line((Span(text, ink),))


def _head(tool: ToolUse, width: int) -> Line:
    fold = "▸ " if tool.folded else "▾ "
    state = _state_words(tool)
    name = cut(one_line(tool.name), width - len(fold) - cell_len(state) - 1)
    room = width - len(fold) - cell_len(name) - cell_len(state) - 3
    told = cut(_told(tool), max(room, 0)) if tool.folded else ""
    gap = width - len(fold) - cell_len(name) - cell_len(told) - cell_len(state) - 1
    return Line(
        (
            Span(fold, Ink.FAINT),
            Span(name, Ink.TOOL),
            Span(f" {told}", Ink.FAINT),
            Span(" " * max(gap, 1), Ink.PLAIN),
            Span(state, _outcome_ink(tool)),
        )
    )


def _told(tool: ToolUse) -> str:
    """The arguments in a line."""
    if len(tool.arguments) == 1:
        (value,) = tool.arguments.values()
        return _short(value)
    return ", ".join(f"{one_line(name)}={_short(value)}" for name, value in tool.arguments.items())


def _short(value: Any) -> str:  # noqa: ANN401 - whatever the model put there
    return one_line(str(value)[:_FIRST_LOOK])


def _state_words(tool: ToolUse) -> str:
    if tool.state is ToolState.ASKED:
        return "? waits for you"
    if tool.state is ToolState.RUNNING:
        return "… running"
    decided = f"{tool.decision.partition(' ')[0]}, " if tool.decision else ""
    return f"{'✗' if tool.is_failure else '✓'} {decided}{duration(tool.duration_ms / 1000)}"


def _outcome_words(tool: ToolUse) -> str:
    outcome = (tool.outcome or ToolOutcome.UNKNOWN).value
    return f"{outcome} after {duration(tool.duration_ms / 1000)}"


def _outcome_ink(tool: ToolUse) -> Ink:
    if tool.state is ToolState.ASKED:
        return Ink.ASKING
    if tool.state is ToolState.RUNNING:
        return Ink.FAINT
    return Ink.BAD if tool.is_failure else Ink.GOOD
