"""An entry of a journal in words, on one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from maverick.cli.figures import counted, duration
from maverick.cli.screen import one_line, printable, shown_call
from maverick.loop.entries import (
    ApprovalDecided,
    CallRuled,
    Edited,
    Entry,
    Interrupted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    Resumed,
    RunStarted,
    ToolFinished,
    ToolsStarted,
)


def entry_line(entry: Entry) -> str:
    """What an entry says happened."""
    return printable(one_line(_WORDS[type(entry)](entry)))


def _started(entry: RunStarted) -> str:
    return f"started {'/'.join(entry.agent)}"


def _called(entry: ModelCalled) -> str:
    what = "to condense the conversation" if entry.compaction else f"turn {entry.turn}"
    return f"model called, {what}" + (f", attempt {entry.attempt}" if entry.attempt > 1 else "")


def _replied(entry: ModelReplied) -> str:
    response = entry.response
    said = [response.content, *(shown_call(call.tool_name, call.arguments) for call in response.tool_calls)]
    return f"model replied, {counted(response.usage.total_tokens, 'token')}: {' '.join(filter(None, said))}"


def _failed(entry: ModelFailed) -> str:
    return f"model failed: {entry.error}"


def _tools_started(entry: ToolsStarted) -> str:
    return f"tools started, turn {entry.turn}"


def _finished(entry: ToolFinished) -> str:
    took = duration(entry.duration_ms / 1000)
    return f"tool {entry.index} {entry.outcome.value} in {took}: {entry.content}"


def _ruled(entry: CallRuled) -> str:
    return f"tool {entry.index}, the permissions say {entry.verdict.value}: {entry.reason}"


def _decided(entry: ApprovalDecided) -> str:
    verb = "approved" if entry.approved else "denied"
    return f"tool {entry.index} {verb} by {entry.by or 'the user'}. {entry.reason}"


def _interrupted(entry: Interrupted) -> str:
    return f"stopped, {entry.reason.value}: {entry.message}".rstrip(": ")


def _resumed(_: Resumed) -> str:
    return "resumed"


def _edited(entry: Edited) -> str:
    return f"a person wrote: {entry.content}"


_WORDS: Mapping[type, Callable[[Any], str]] = {
    RunStarted: _started,
    ModelCalled: _called,
    ModelReplied: _replied,
    ModelFailed: _failed,
    ToolsStarted: _tools_started,
    ToolFinished: _finished,
    CallRuled: _ruled,
    ApprovalDecided: _decided,
    Interrupted: _interrupted,
    Resumed: _resumed,
    Edited: _edited,
}
