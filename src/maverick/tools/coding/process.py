"""Runs a program for a tool, and leaves nothing of it behind (promise P4).

The program has a session of its own, no input, and an environment without secrets. Whatever ends the tool ends the
program, and with it whatever it has started: on Linux a small reaper stands between us and the program, to which every
orphaned descendant falls, also one that has left the session; elsewhere the process group is all there is to kill. A
program that runs inside a sandbox needs no reaper, since its whole process namespace ends with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from maverick.config.programs import plain_environment
from maverick.exceptions import ToolError

_REAPER = Path(__file__).with_name("reaper.py")
_CHUNK = 65_536
_LAST_WORDS = 0.2
"""Seconds the last output of a program has to arrive once it has ended."""
_PATIENCE = 2.0
"""Seconds a program has to end by itself once it is told to; our reaper and bubblewrap do so at once."""


def reaped(argv: Sequence[str]) -> list[str]:
    """The command that runs another one and kills all that is left of it; the same one where there is no reaper.

    The words of the other one are encoded, so that a command which looks for processes by their words, or kills them,
    does not find the reaper.

    Raises:
        ToolError: A word has half of a character, which no program can be given.
    """
    if not sys.platform.startswith("linux"):
        return list(argv)
    try:
        words = [b64encode(os.fsencode(word)).decode() for word in argv]
    except UnicodeEncodeError as error:
        raise ToolError(f"{argv[0]} could not be started: {error}.") from error
    return [sys.executable, "-I", "-S", str(_REAPER), str(os.getpid()), *words]


async def run_program(
    argv: Sequence[str],
    take: Callable[[bytes], bool],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    files: Sequence[int] = (),
    errors: int | None = None,
) -> int:
    """Run a program to its end, or until its output is not wanted any more, and return its exit code.

    Args:
        argv: The program and its arguments.
        take: Given each piece of its output and errors; says whether more is wanted.
        cwd: The folder to run it in.
        env: Its environment; by default :func:`~maverick.config.programs.plain_environment`.
        files: Open files to hand over to it.
        errors: An open file for its errors; by default they are among its output.

    Raises:
        ToolError: It could not be started.
    """
    # The pipe is ours and not asyncio's, which would take a program for running as long as anybody has its output open.
    reading_end, writing_end = os.pipe()
    with os.fdopen(reading_end, "rb", 0) as pipe:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing_end,
                stderr=writing_end if errors is None else errors,
                cwd=cwd,
                env=plain_environment() if env is None else env,
                pass_fds=files,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"{argv[0]} could not be started: {error}.") from error
        finally:
            os.close(writing_end)
        ended = asyncio.ensure_future(process.wait())
        reading = asyncio.ensure_future(_read(pipe, take))
        try:
            await asyncio.wait([ended, reading], return_when=asyncio.FIRST_COMPLETED)
            if reading.done() and reading.result():
                await asyncio.wait([ended])  # it has closed its output, and may still have something to do
            await asyncio.wait([reading], timeout=_LAST_WORDS)
        finally:
            await _end(process, ended)
            reading.cancel()
            await asyncio.wait([reading])
    return process.returncode or 0


async def _read(pipe: BinaryIO, take: Callable[[bytes], bool]) -> bool:
    """Read until nobody writes any more, or nobody wants to know; say whether it was the former."""
    reader = asyncio.StreamReader(limit=_CHUNK)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        while chunk := await reader.read(_CHUNK):
            if not take(chunk):
                return False
        return True
    finally:
        transport.close()


async def _end(process: asyncio.subprocess.Process, ended: asyncio.Future[int]) -> None:
    """End a program and its group: gently, then for good.

    If this is cut short, our reaper and bubblewrap still end, and all that is theirs first.
    """
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        _signal_group(process.pid, signal.SIGCONT)  # whoever was stopped can not clean up
        await asyncio.wait([ended], timeout=_PATIENCE)
    _signal_group(process.pid, signal.SIGKILL)
    await asyncio.wait([ended])


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
