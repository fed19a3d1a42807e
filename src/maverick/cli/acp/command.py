"""Serves an agent to the editor that has started this process."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, cast

from acp import Agent, run_agent, stdio_streams
from acp.core import DEFAULT_STDIO_BUFFER_LIMIT_BYTES

from maverick.cli.acp.agent import EditorAgent
from maverick.cli.acp.session import Served
from maverick.cli.agent_lookup import look_up, named_file
from maverick.cli.exit_codes import SIGNALLED, SUCCESS
from maverick.cli.run_options import RunOptions
from maverick.cli.screen import point_nowhere
from maverick.cli.settings import load_settings
from maverick.cli.stop_signals import ENDING
from maverick.exceptions import InvalidInputError
from maverick.journal.opening import open_journal
from maverick.loop.inputs import REQUIRED

_PROMPT = "prompt"
_NOT_AN_EDITOR = (
    "`maverick acp` is started by an editor, and talks to it. Add it to your editor's settings as an agent."
)


def serve(options: argparse.Namespace) -> int:
    """Serve an editor until it closes the connection."""
    if not (_is_connection(0) and _is_connection(1)):
        raise InvalidInputError(_NOT_AN_EDITOR, field="terminal")
    streams = _take_streams()
    config = load_settings()
    found = look_up(options.agent, config)
    if found.definition is None:
        raise InvalidInputError(
            f"The agent {found.name!r} is a class, which works in one folder only. Run it with: maverick run {found.name}",
            field="agent",
        )
    # Sessions have other folders.
    source = str(Path.cwd() / options.agent) if named_file(options.agent) else options.agent
    inputs = {name for name, spec in (found.inputs or {}).items() if spec.default is REQUIRED}
    if inputs - {_PROMPT}:
        raise InvalidInputError(
            f"The agent {found.name!r} takes {', '.join(sorted(inputs))}, and an editor only gives a prompt.",
            field="agent",
        )
    changes = RunOptions.from_options(vars(options))

    async def run() -> int:
        async with open_journal(options.journal or config.journal.get_secret_value()) as journal:
            await journal.list_runs(limit=1)  # that it cannot be opened is told before the first prompt
            return await _answer(EditorAgent(Served(source, found, journal, changes)), *streams)

    return asyncio.run(run())


async def _answer(agent: EditorAgent, from_editor: TextIO, to_editor: TextIO) -> int:
    """Answer the editor until it is gone, or the process is told to end."""
    sys.stdin, sys.stdout = from_editor, to_editor
    try:
        reader, writer = await stdio_streams(limit=DEFAULT_STDIO_BUFFER_LIMIT_BYTES)
    finally:
        sys.stdin, sys.stdout = sys.__stdin__, sys.stderr
    came: list[int] = []
    listening = asyncio.create_task(
        run_agent(cast("Agent", agent), EditorMessages(reader, writer), use_unstable_protocol=True)
    )

    def end(number: int) -> None:
        came.append(number)
        listening.cancel()

    for number in (signal.SIGINT, *ENDING):
        asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        with suppress(asyncio.CancelledError):
            await listening
    finally:
        await agent.aclose()
    return SIGNALLED + came[0] if came else SUCCESS


def _is_connection(descriptor: int) -> bool:
    """Whether someone may be at the other end: of a pipe or a socket, but not of a terminal, a file or a device."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:  # it is closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _take_streams() -> tuple[TextIO, TextIO]:
    """The standard streams, for the protocol alone: what else is written goes to standard error, and nothing else is read."""
    taken = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    point_nowhere(0)
    os.dup2(2, 1)
    return taken


_UNREADABLE, _INVALID = -32700, -32600


class EditorMessages:
    """A connection to an editor, as a transport of the protocol's package."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; ``None`` once the editor is gone."""
        while (line := await self._line()) != b"":
            if line is not None and not line.strip():
                continue
            try:
                message = json.loads(line or "")
            except (ValueError, RecursionError):
                await self._refuse(_UNREADABLE, "The message is not valid JSON, or is too large.")
                continue
            if _is_message(message):
                return dict(message)
            await self._refuse(_INVALID, "Expected a request, a notification or a response of JSON-RPC 2.0.")
        return None

    async def close(self) -> None:
        """Nothing is left to do: each message was handed over when it was sent."""

    async def _line(self) -> bytes | None:
        """The next line; empty at the end, and ``None`` for one that is too long."""
        is_whole = True
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                await self._reader.readexactly(error.consumed)
                is_whole = False
            except asyncio.IncompleteReadError as error:
                return error.partial
            else:
                return line if is_whole else None

    async def _refuse(self, code: int, why: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}})


def _is_message(message: object) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("id"), str | int | None):
        return False
    if message.get("method") is not None:
        return isinstance(message["method"], str)
    return "result" in message or isinstance(message.get("error"), dict)
