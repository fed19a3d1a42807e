"""Opens the screen, and says afterwards what was stopped when the person left."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys

from maverick.cli.agent_lookup import look_up, split_source
from maverick.cli.executing import who_answers
from maverick.cli.exit_codes import SIGNALLED, SUCCESS
from maverick.cli.runs.console import Console
from maverick.cli.screen import Screen
from maverick.cli.trust.asking import load_settings
from maverick.cli.tui.workplace import CommandLineWorkplace
from maverick.config import MaverickConfig
from maverick.exceptions import InvalidInputError
from maverick.journal.opening import open_journal
from maverick.tui.app import MaverickApp


def open_screen(options: argparse.Namespace) -> int:
    """Show the screen until the person leaves.

    Args:
        options: What was asked for.

    Returns:
        The exit code.

    Raises:
        InvalidInputError: There is no terminal to show it in.
        ConfigError: There is no MCP server of a name, or it is one of a project that is not trusted.
        JournalError: The journal can not be opened.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") == "dumb":
        raise InvalidInputError(
            "The screen needs a terminal. Elsewhere, use `maverick run` and `maverick runs`.",
            field="terminal",
        )
    config = load_settings(asks=True)
    return asyncio.run(_show(options, config))


async def _show(options: argparse.Namespace, config: MaverickConfig) -> int:
    named = look_up(options.agent, config)
    if named.definition is not None:
        who_answers(
            named.definition, options.model, config.agent
        )  # what is wrong is better said before the screen
    if options.mcp:
        from maverick.config.mcp_servers import load_mcp_servers  # here, since most people name none

        known = load_mcp_servers()
        for name in options.mcp:
            known.find(name)
    async with open_journal(options.journal or config.journal.get_secret_value()) as journal:
        await journal.list_runs(limit=1)  # what is wrong with it is better said before there is a screen
        workplace = CommandLineWorkplace(
            config,
            journal,
            named,
            file=_file(options.agent),
            model=options.model,
            mode=options.mode,
            mcp=options.mcp or (),
        )
        app = MaverickApp(workplace, named.name)
        signals = _leave_on_signals(app)
        await app.run_async()
        if app.failure is not None:
            raise app.failure
        if signal.SIGHUP in signals:
            return SIGNALLED + signal.SIGHUP  # there is no terminal any more to say anything in
        screen = Screen.of_process(interactive=True)
        console = Console(journal, screen, named_journal=options.journal)
        for session in app.stopped:
            command = console.command("resume", session.run_id, *workplace.words_to_resume(session.agent))
            screen.remark(f"{session.run_id} was stopped. Go on with: {command}")
    return SIGNALLED + signals[0] if signals else SUCCESS


def _leave_on_signals(app: MaverickApp) -> list[signal.Signals]:
    """Leave when somebody wants the process to end, or its connection is lost; returns what came, once it has."""
    came: list[signal.Signals] = []

    def leave(number: signal.Signals) -> None:
        came.append(number)
        app.call_later(app.action_quit)

    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, leave, number)
    return came


def _file(agent: str | None) -> str | None:
    """The file to name again when a run is resumed; an agent that has a name is found by it."""
    path, _ = split_source(agent or "")
    return path if path.endswith((".py", ".md")) else None
