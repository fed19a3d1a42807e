"""A run at the terminal: drives it to its end, and asks the person whether a tool call may be made."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.running import agent_executor
from maverick.cli.event_printer import progress_line
from maverick.cli.run_printer import RunPrinter, watch
from maverick.cli.screen import Screen
from maverick.config import MaverickConfig
from maverick.loop import AgentDefinition, AgentResult
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.answer_form import form_fields
from maverick.runtime.approver import ApprovalAnswer, ApprovalRequest, Approver
from maverick.runtime.consent import CallPreview, Grants, GrantScope, consent, visible
from maverick.runtime.event_log import Listener
from maverick.tui.figures import counted
from maverick.tui.plain_text import one_line

_YES = ("y", "yes")
_NO = ("n", "no", "")
_ALWAYS = {
    **dict.fromkeys(("a", "always"), GrantScope.SESSION),
    **dict.fromkeys(("p", "project"), GrantScope.PROJECT),
}
_CHOICES = {GrantScope.SESSION: "[a]lways in this session, ", GrantScope.PROJECT: "or this [p]roject, "}
_SOUND_LIKE_YES = (*_YES, *_ALWAYS, "yeah", "yep", "ok", "okay", "sure")
"""How a sentence may begin that is not clearly a no."""
_WHY = "Why not? The model is told (Enter to say nothing): "
_MANY_LINES = 12
_HOW = (
    "  y: allow it once; a: always in this session; p: always in this folder; n, or a sentence that says why: do not;"
    ' e {"argument": value}: allow it with this changed'
)


async def drive_run(
    printer: RunPrinter,
    found: DiscoveredAgent,
    config: MaverickConfig,
    start: Callable[[AgentExecutor, AbortSignal, Listener], Coroutine[Any, Any, AgentResult[Any]]],
    user_id: str | None = None,
) -> int:
    """Run an agent, with what the options of the command change about it, to its end; returns the exit code.

    ``start`` starts, resumes or forks the run; ``user_id`` is the user it acts for, if it was started for one.
    """
    screen = printer.console.screen
    async with AsyncExitStack() as lifetime:
        async with nullcontext() if printer.console.as_json else progress_line(screen) as line:
            if line is not None and printer.changes.mcp:
                line.doing(f"starting MCP servers: {', '.join(printer.changes.mcp)}")

            def remark(text: str) -> None:
                if line is not None:
                    line.clear()
                screen.remark(text)

            executor = await lifetime.enter_async_context(
                agent_executor(
                    found,
                    config,
                    printer.console.journal if printer.kept else None,
                    user_id=user_id,
                    mode=printer.changes.mode,
                    approve=terminal_approver(printer, Path.cwd()),
                    grants=Grants(Path.cwd()),
                    on_output=printer.hear,
                    on_remark=remark,
                )
            )
        result = await watch(printer, partial(start, executor))
    if type(found.agent) is not AgentDefinition:
        from maverick.cli.run.class_agent import with_words  # here, since few agents are classes

        result = with_words(result, as_json=printer.console.as_json)
    return await printer.conclude(result)


def terminal_approver(printer: RunPrinter, folder: Path | None) -> Approver | None:
    """The function that asks the user, if there is a terminal; without a folder, the agent's tools run elsewhere."""
    if printer.console.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    asking, grants = asyncio.Lock(), Grants(folder or Path.cwd())

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        async with asking:  # calls of several subagents are asked about one after the other
            return await consent(request, grants, partial(_ask, printer, request, grants), folder)

    return approve


async def _ask(
    printer: RunPrinter, request: ApprovalRequest, grants: Grants, preview: CallPreview
) -> tuple[ApprovalAnswer, GrantScope | None]:
    await asyncio.sleep(0)  # so that what led to the call is shown before it
    screen, progress = printer.console.screen, printer.progress
    if progress is not None:
        progress.paused = True
        progress.clear()
    scopes = grants.scopes(preview) if request.form is None else ()
    yes = "[y]es" if request.form is None else "[y]es, fill it in"
    choices = f"{yes}, [N]o (or say why), {''.join(_CHOICES[scope] for scope in scopes)}[e]dit: "
    try:
        _show(screen, request, preview, scopes)
        _forget_typed()
        while True:
            typed = await _answer(screen, choices)
            if request.form is not None and typed.lower() in _YES:
                return await _filled_in(screen, request, request.form), None
            if (scope := _ALWAYS.get(typed.lower())) in scopes:
                return request.approve(), scope
            if typed.lower() in ("n", "no"):
                return request.deny(await _answer(screen, _WHY)), None
            if (answer := _read(request, typed)) is not None:
                return answer, None
            screen.remark(_HOW)
    finally:
        if progress is not None:
            progress.paused = False


def _show(
    screen: Screen, request: ApprovalRequest, preview: CallPreview, scopes: Sequence[GrantScope]
) -> None:
    """Show what a person is asked about."""
    screen.headline(preview.question)
    if request.reason:
        screen.remark(f"  because {one_line(request.reason)}")
    # In full, since no one should approve what they cannot see.
    screen.diff(preview.lines) if preview.kind == "edit" else screen.quote(preview.lines)
    if scopes:
        screen.remark(f"  always: {preview.always}")
    if len(preview.lines) > _MANY_LINES:  # which may have moved the headline off the screen
        screen.headline(f"{preview.title}, {_size(preview)}?")


async def _filled_in(screen: Screen, request: ApprovalRequest, form: Mapping[str, Any]) -> ApprovalAnswer:
    """The answer to a form, asked for field by field; Enter takes what is suggested, or leaves a field out."""
    answer: dict[str, Any] = {}
    for field in form_fields(form, request.arguments):
        suggested = "" if field.suggested is None else f" [{field.suggested}]"
        while True:
            typed = await _answer(screen, f"{visible(field.title)}{visible(suggested)}: ")
            try:
                value = field.read(typed) if typed else field.suggested
            except ValueError as error:
                screen.remark(f"  {visible(str(error))}")
                continue
            if value is not None:
                answer[field.name] = value
            break
    return request.approve(arguments=answer)


def _size(preview: CallPreview) -> str:
    """How much there is to look at, in words."""
    lines = preview.lines
    if preview.kind != "edit":
        return f"{counted(len(lines), 'line')} above"
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    return f"{counted(added, 'line')} added and {counted(removed, 'line')} removed above"


def _read(request: ApprovalRequest, typed: str) -> ApprovalAnswer | None:
    """The answer that was typed; ``None`` if it is unclear."""
    word, _, rest = typed.partition(" ")
    match word.lower().rstrip(",.;:!"):
        case "y" | "yes" if not rest:
            return request.approve()
        case "" | "n" | "no":
            # "no, it is in use" is an answer and its reason; "no comments please" is all reason.
            is_reason = bool(rest) and word.lower() == "no"
            return request.deny(typed if is_reason else rest.strip())
        case "e" | "edit":
            try:
                return request.approve(arguments={**request.arguments, **json.loads(rest)})
            except (ValueError, TypeError, RecursionError):
                return None
        case word if rest and word not in _SOUND_LIKE_YES:
            return request.deny(typed)
    return None


async def agreed(screen: Screen) -> bool:
    """Whether the person at the terminal says yes to what they were just shown."""
    _forget_typed()
    while (typed := (await _answer(screen, "[y]es or [N]o: ")).lower()) not in _YES + _NO:
        pass
    return typed in _YES


def _forget_typed() -> None:
    """Drop what was typed before a question was asked: it is no answer to it."""
    import termios  # here, since not every system has it, and no other command needs it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def _answer(screen: Screen, choices: str) -> str:
    """A line from the keyboard; unlike reading in a thread, waiting for it can be cancelled."""
    screen.prompt(choices)
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), arrived.set)
    try:
        await arrived.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return os.read(sys.stdin.fileno(), 4096).decode(errors="replace").strip()
