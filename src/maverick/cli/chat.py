"""``maverick chat``: a conversation in the terminal, or with what is piped into it."""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain
from typing import TextIO

from maverick.cli.assistant import choose_assistant
from maverick.cli.chat_session import ChatSession
from maverick.cli.event_printer import EventPrinter
from maverick.cli.exit_codes import FAILURE, INTERRUPTED, SUCCESS
from maverick.cli.progress import progress_line
from maverick.cli.screen import Screen, shortened
from maverick.cli.settings import load_settings
from maverick.cli.stop_signals import on_ctrl_c
from maverick.cli.tour import play_tour
from maverick.exceptions import MaverickError
from maverick.loop import TerminateReason
from maverick.loop.events import AgentActivityEvent, ToolCallEnd
from maverick.providers.resolve import OFFLINE
from maverick.runtime import AbortSignal

HELP = """\
Say what to do with your tasks, and press Enter.
  /new    start a new conversation
  /help   show this help
  /quit   leave (so does Ctrl-D)
Ctrl-C stops an answer; at the prompt it leaves."""

_PACE = 0.015
"""Seconds between two words of the offline model, for a person who watches."""


class Chat:
    """A conversation on the screen.

    Args:
        session: The conversation.
        screen: Where the answers are shown.
        plain: Whether the answers are no Markdown.
    """

    def __init__(self, session: ChatSession, screen: Screen, *, plain: bool = False) -> None:
        self._session = session
        self._screen = screen
        self._plain = plain

    async def answer(self, text: str) -> int:
        """Answer a person, showing the answer as it comes; Ctrl-C stops it and keeps what there is.

        Returns:
            The exit code, if this is the last answer.
        """
        stop, view = AbortSignal(), EventPrinter(self._screen, plain=self._plain)
        with on_ctrl_c(stop.abort):
            async with progress_line(self._screen) as progress:
                async for event in self._session.answer(text, signal=stop):
                    if progress is not None:
                        progress.follow(event)
                    if not _is_repeated_in_answer(event):
                        view.show(event)
        result = self._session.last
        view.conclude(result)
        if result.success:
            return SUCCESS
        return INTERRUPTED if result.terminate_reason is TerminateReason.ABORTED else FAILURE

    def forget(self) -> None:
        """Start another conversation."""
        self._session.start_anew()

    async def aclose(self) -> None:
        """Let go of everything."""
        await self._session.aclose()


def run_chat(options: argparse.Namespace) -> int:
    """Talk to a person at the terminal, answer what is piped in, or show the tour if there is no input.

    Returns:
        The exit code: 0, or 1 when a piped line could not be answered, or 130 when it was interrupted.
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
        chat = Chat(session, screen, plain=assistant.model == OFFLINE)
        try:
            if interactive:
                return _talk(chat, screen, runner, assistant.introduction)
            return _answer_lines(chat, screen, runner, assistant.introduction)
        finally:
            runner.run(chat.aclose())


def _talk(chat: Chat, screen: Screen, runner: asyncio.Runner, introduction: str) -> int:
    screen.headline(introduction)
    screen.remark("Type /help for help, /quit to leave.")
    threading.Thread(target=_load_ahead, name="maverick-load", daemon=True).start()
    for line in _typed_lines():
        if line.startswith("/"):
            if not _obey(line, chat, screen):
                break
        elif line:
            try:
                runner.run(chat.answer(line))
            except MaverickError as error:  # the database, say: one can try again, or leave
                screen.complain(f"maverick: {error}")
    return SUCCESS


def _load_ahead() -> None:
    """Load what an answer needs while the person types. If that fails, their first message is told why."""
    with suppress(Exception):
        from maverick.chat import AgentRunner, Database, MCPToolServer  # noqa: F401
        from maverick.tools.mcp import plugged_in  # noqa: F401


def _answer_lines(chat: Chat, screen: Screen, runner: asyncio.Runner, introduction: str) -> int:
    lines = (line.strip() for line in sys.stdin or ())
    first = next((line for line in lines if line), None)
    if first is None:
        return runner.run(play_tour(screen))
    screen.remark(introduction)
    for line in chain([first], lines):
        if line.startswith("/"):
            if not _obey(line, chat, screen):
                break
        elif line:
            code = runner.run(chat.answer(line))
            if code != SUCCESS:
                return code
    return SUCCESS


def _obey(command: str, chat: Chat, screen: Screen) -> bool:
    """Run a command that begins with a slash; returns whether to continue."""
    match command:
        case "/quit" | "/exit":
            return False
        case "/new":
            chat.forget()
            screen.remark("(a new conversation)")
        case "/help":
            screen.remark(HELP)
        case _:
            screen.complain(f"There is no command {shortened(command)}. Type /help for the commands.")
    return True


def _is_repeated_in_answer(event: AgentActivityEvent) -> bool:
    """Whether it is the answer of a task tool, which the model puts into words."""
    return isinstance(event, ToolCallEnd) and event.result.startswith('{"success":')


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
