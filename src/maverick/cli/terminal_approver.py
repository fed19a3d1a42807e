"""Asks the person at the terminal whether a tool call may be made."""

from __future__ import annotations

import asyncio
import os
import sys

from maverick.cli.run_printer import RunPrinter
from maverick.cli.screen import Screen, one_line, printable, whole_call
from maverick.model import ToolCall
from maverick.runtime.driver import Approver

_YES = ("y", "yes")
_NO = ("n", "no", "")


def terminal_approver(printer: RunPrinter) -> Approver | None:
    """The function that asks the user, if there is a terminal."""
    if printer.console.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    asking = asyncio.Lock()

    async def approve(call: ToolCall) -> bool:
        async with asking:  # calls of several subagents are asked about one after the other
            return await _ask(printer, call)

    return approve


async def _ask(printer: RunPrinter, call: ToolCall) -> bool:
    await asyncio.sleep(0)  # so that what led to the call is shown before it
    screen, progress = printer.console.screen, printer.progress
    if progress is not None:
        progress.paused = True
        progress.clear()
    try:
        # In full, since no one should approve what they cannot see; and escaped, so that nothing in it is invisible.
        screen.headline(f"May it call {whole_call(call.tool_name, call.arguments)}?")
        if reason := printer.reasons.get(call.id):
            screen.remark(f"  because {printable(one_line(reason))}")
        return await agreed(screen)
    finally:
        if progress is not None:
            progress.paused = False


async def agreed(screen: Screen) -> bool:
    """Whether the person at the terminal says yes to what they were just shown."""
    import termios  # here, since not every system has it, and no other command needs it

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)  # what was typed before is no answer to this
    while True:
        screen.prompt("[y]es or [N]o: ")
        answer = (await _typed_line()).strip().lower()
        if answer in _YES + _NO:
            return answer in _YES


async def _typed_line() -> str:
    """A line from the keyboard; unlike reading in a thread, waiting for it can be cancelled."""
    loop, arrived = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), arrived.set)
    try:
        await arrived.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return os.read(sys.stdin.fileno(), 4096).decode(errors="replace")
