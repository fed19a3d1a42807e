"""``maverick chat``: a conversation in the terminal, or with what is piped into it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TextIO

from maverick.cli.chat_session import ChatSession, choose_assistant
from maverick.cli.event_printer import EventPrinter, progress_line
from maverick.cli.exit_codes import FAILURE, INTERRUPTED, SUCCESS
from maverick.cli.screen import Screen, shortened, shown_call
from maverick.cli.settings import load_settings
from maverick.cli.stop_signals import on_ctrl_c
from maverick.exceptions import AgentError, AuthenticationError, MaverickError, NetworkError
from maverick.journal import Journal, SqliteJournal
from maverick.journal.timeline import Timeline
from maverick.loop import AgentResult, TerminateReason
from maverick.loop.events import AgentActivityEvent, ContentChunk, ToolCallEnd, ToolCallStart
from maverick.providers.resolve import OFFLINE
from maverick.runtime import AbortSignal
from maverick.telemetry import log
from maverick.tui.plain_text import one_line

HELP = """\
Say what to do with your tasks, and press Enter.
  /new    start a new conversation
  /help   show this help
  /quit   leave (so does Ctrl-D)
Ctrl-C stops an answer; at the prompt it leaves."""

_WRONG_KEY = "Your API key was rejected. `maverick doctor` checks it."
_OTHER = "Something went wrong. Please try again; `maverick runs list` shows what happened."
_PACE = 0.015
"""Seconds between two words of the offline model, for a person who watches."""


def run_chat(options: argparse.Namespace) -> int:
    """Talk to a person at the terminal, answer what is piped in, or show the tour if there is no input.

    The exit code is 1 when a piped line could not be answered, and 130 when it was interrupted.
    """
    for package in ("mcp", "sqlmodel"):  # which are loaded after the prompt is shown
        if find_spec(package) is None:
            raise ModuleNotFoundError(name=package)
    interactive = _is_terminal(sys.stdin) and _is_terminal(sys.stdout)
    screen = Screen.of_process(interactive=interactive)
    assistant = choose_assistant(
        options.model, load_settings(asks=True).agent, pace=_PACE if interactive else 0
    )
    with asyncio.Runner() as runner:
        session = ChatSession(assistant.client, assistant.model)
        try:
            if interactive:
                screen.headline(assistant.introduction)
                screen.remark("Type /help for help, /quit to leave.")
                threading.Thread(target=_load_ahead, name="maverick-load", daemon=True).start()
                return _converse(session, screen, runner, _typed_lines(), goes_on=True)
            lines = (line.strip() for line in sys.stdin or ())
            first = next((line for line in lines if line), None)
            if first is None:
                return runner.run(play_tour(screen))
            screen.remark(assistant.introduction)
            return _converse(session, screen, runner, chain([first], lines), goes_on=False)
        finally:
            runner.run(session.aclose())


def _converse(
    session: ChatSession, screen: Screen, runner: asyncio.Runner, lines: Iterable[str], *, goes_on: bool
) -> int:
    """Answer line by line; returns the exit code.

    If it ``goes_on``, a person is there, who can try again after an error, or leave. Otherwise the other lines are
    answered too, unless the model cannot be reached or rejects the key: it would do so again.
    """
    failed = False
    for line in lines:
        if line.startswith("/"):
            if not _obey(line, session, screen):
                break
        elif line:
            try:
                code = runner.run(_answer(session, screen, line))
            except MaverickError as error:
                if not goes_on:
                    raise
                screen.complain(f"maverick: {error}")
            else:
                if code == INTERRUPTED and not goes_on:
                    return code
                failed = failed or code != SUCCESS
                if failed and not goes_on and _is_out_of_reach(session.last):
                    break
    return FAILURE if failed and not goes_on else SUCCESS


def _is_out_of_reach(result: AgentResult) -> bool:
    return any(isinstance(error, AuthenticationError | NetworkError) for error in result.errors)


async def _answer(session: ChatSession, screen: Screen, text: str) -> int:
    """Answer a person, showing the answer as it comes; Ctrl-C stops it and keeps what there is."""
    from maverick.chat.task_tools import (
        TASK_TOOL_NAMES,
    )  # here, so that a prompt is shown before what is heavy is loaded

    stop, view = AbortSignal(), EventPrinter(screen, plain=session.model == OFFLINE, explain=_explain)
    unshown: set[str] = set()  # calls of task tools: the answer says in words what they did
    with on_ctrl_c(stop.abort):
        async with progress_line(screen) as progress:
            async for event in session.answer(text, signal=stop):
                if progress is not None:
                    progress.follow(event)
                if isinstance(event, ToolCallStart) and event.tool_call.tool_name in TASK_TOOL_NAMES:
                    unshown.add(event.tool_call.id)
                elif not (isinstance(event, ToolCallEnd) and event.tool_call_id in unshown):
                    view.show(event)
    result, reply = session.last, session.reply
    view.conclude(result)
    if not result.success:
        return INTERRUPTED if result.terminate_reason is TerminateReason.ABORTED else FAILURE
    if reply is None or reply.is_answer:
        return SUCCESS
    if not view.answered:
        screen.complain(f"maverick: {reply.response}")
    return FAILURE


def _explain(error: Exception) -> str:
    """What went wrong in plain words; the log has the details."""
    from maverick.chat.reasons import (
        plain_reason,
    )  # here, so that a prompt is shown before what is heavy is loaded

    log(logging.INFO, "answer_failed", {"error": type(error).__name__}, text=str(error), error=error)
    if type(error) is AgentError:  # the assistant's own words
        return str(error)
    return plain_reason(error, wrong_key=_WRONG_KEY, otherwise=_OTHER)


def _load_ahead() -> None:
    """Load what an answer needs while the person types. If that fails, their first message is told why."""
    with suppress(Exception):
        from maverick.chat import AgentRunner, Database, MCPToolServer  # noqa: F401


def _obey(command: str, session: ChatSession, screen: Screen) -> bool:
    """Run a command that begins with a slash; returns whether to continue."""
    match command:
        case "/quit" | "/exit":
            return False
        case "/new":
            session.start_anew()
            screen.remark("(a new conversation)")
        case "/help":
            screen.remark(HELP)
        case _:
            screen.complain(f"There is no command {shortened(command)}. Type /help for the commands.")
    return True


def _typed_lines() -> Iterator[str]:
    """What a person types, until they leave."""
    with suppress(ImportError):  # no line editing on some systems
        import readline  # noqa: F401 - input() uses it once it is loaded
    while True:
        try:
            line = input("> ")
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            return
        yield line.strip()


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


SAID = (
    "Add call the bank by tomorrow, high priority",
    "Remind me to buy milk",
    "What's on my list?",
    "I've called the bank, mark call the bank as done",
    "Delete buy milk",
    "yes delete",
    "undo",
    "What's left?",
)
"""The person's part of the conversation."""
_CONFIRMED = SAID.index("yes delete")


async def play_tour(screen: Screen) -> int:
    """Talk about tasks on the offline model, in a database of its own, and show one run's timeline; returns the exit code."""
    from maverick.chat.offline import TaskModel

    screen.say("A short tour of Maverick: no key, no network, no keyboard.\n")
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteJournal(Path(folder) / "runs.db") as journal:
            session = ChatSession(
                TaskModel(), "offline:", database=f"{folder}/chat.db", journal=journal, user_id="tour"
            )
            all_answered = True
            for text in SAID:
                screen.say(f"\n> {text}\n")
                async for event in session.answer(text):
                    _tell(event, screen)
                screen.end_line()
                all_answered = all_answered and session.last.success
            screen.say("\nEvery run is in the journal, step by step; the one that deleted:\n")
            await _show_timeline(journal, session.run_ids[_CONFIRMED], screen)
            await session.aclose()
    screen.say(
        "\nIn a terminal, “maverick chat” lets you talk about your own tasks; piped text is answered line by line.\n"
        "With ANTHROPIC_API_KEY set it talks to Claude. “maverick runs list” shows what was done.\n"
    )
    return 0 if all_answered else 1


def _tell(event: AgentActivityEvent, screen: Screen) -> None:
    match event:
        case ToolCallStart(tool_call=call):
            screen.say(f"   · {shown_call(call.tool_name, call.arguments)}\n")
        case ContentChunk(content=text):
            screen.say(text)


async def _show_timeline(journal: Journal, run_id: str, screen: Screen) -> None:
    timeline = Timeline([stored.entry async for stored in journal.read(run_id)])
    for turn in timeline.turns:
        for tool in turn.tools:
            screen.say(
                f"   turn {turn.number}  {shown_call(tool.tool_name, tool.arguments)}: {tool.outcome}\n"
            )
        if turn.text:
            screen.say(f"   turn {turn.number}  “{one_line(turn.text)}”\n")
