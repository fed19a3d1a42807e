"""A CLI that cannot outlive whoever started it.

It lives as long as one socket is open. Shutting that socket, which no cancellation can interrupt, ends the CLI and
everything it has started; the kernel shuts it when this process dies, whatever it dies of.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from maverick.exceptions import AgentError, CLINotFoundError, InvalidInputError, ProcessError
from maverick.providers.claude_cli.guard import guard
from maverick.telemetry import log

DEFAULT_LINE_BYTES = 32 * 1024 * 1024
"""The longest message the CLI may send; files and images it has read are in its messages."""
END_SECONDS = 2.0
"""How long to wait for the end of a CLI that was killed; its keeper needs a fraction of it."""

_STDERR_LINES = 20
_STDERR_LINE_BYTES = 64 * 1024
_KILLED = -9


class CliProcess:
    """A CLI that runs; :meth:`start` makes one."""

    def __init__(
        self,
        life: socket.socket,
        streams: Sequence[tuple[asyncio.StreamReader, asyncio.StreamWriter]],
        on_stderr: Callable[[str], None] | None,
    ) -> None:
        (_, self.stdin), (self.stdout, _), (stderr, _), (self._reports, self._orders) = streams
        self._life = life
        self._writers = [writer for _, writer in streams]
        self._on_stderr = on_stderr
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        loop = asyncio.get_running_loop()
        self._started: asyncio.Future[None] = loop.create_future()
        self._exit: asyncio.Future[int] = loop.create_future()
        self._exit.add_done_callback(
            lambda ended: ended.cancelled() or ended.exception()
        )  # it may be nobody's concern
        self._listening = asyncio.create_task(self._listen(stderr))
        self._following: asyncio.Task[None] | None = None
        self.pid = 0
        """Its process id, once it runs."""

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        line_bytes: int = DEFAULT_LINE_BYTES,
        on_stderr: Callable[[str], None] | None = None,
    ) -> CliProcess:
        """Have a program started. That it could not be is raised by :meth:`started` and :meth:`wait`.

        Args:
            argv: The program and its arguments.
            env: Its whole environment.
            cwd: The folder it runs in.
            line_bytes: The longest line that may come out of it.
            on_stderr: Called with each line of its standard error.
        """
        process = await cls._connected(line_bytes, on_stderr)
        process.begin({"argv": list(argv), "env": dict(env), "cwd": str(cwd)})
        return process

    @classmethod
    async def _connected(cls, line_bytes: int, on_stderr: Callable[[str], None] | None) -> CliProcess:
        """The ends of the sockets to a program that is still to be named."""
        ours, theirs = zip(*(socket.socketpair() for _ in range(4)), strict=True)
        try:
            guard.hand_over(theirs, ours[3])
        except BaseException:
            for end in ours:
                end.close()
            raise
        finally:
            for end in theirs:
                end.close()
        limits = (1, line_bytes, _STDERR_LINE_BYTES, 1 << 16)
        streams: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        try:
            for end, limit in zip(ours, limits, strict=True):
                streams.append(await asyncio.open_connection(sock=end, limit=limit))
        except BaseException:
            for _, writer in streams:
                writer.transport.abort()
            for end in ours[len(streams) :]:
                end.close()
            raise
        return cls(ours[3], streams, on_stderr)

    @property
    def stderr(self) -> str:
        """The last lines it wrote to its standard error."""
        return "\n".join(self._stderr)

    async def started(self) -> int:
        """Its process id, once it runs.

        Raises:
            CLINotFoundError: There is no such program.
            InvalidInputError: There is no such folder, or the arguments are too long.
            ProcessError: It could not be started for another reason.
        """
        either: list[asyncio.Future[Any]] = [self._started, self._exit]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._started.done():
            await self.wait()
        return self.pid

    async def wait(self) -> int:
        """Its exit code, once it has exited; a negative one is the signal that killed it.

        Raises:
            AgentError: It could not be started, as :meth:`started` says.
        """
        return await asyncio.shield(self._exit)

    async def exits_within(self, seconds: float) -> bool:
        """Whether it exits by itself in this time."""
        exited, _ = await asyncio.wait([self._exit], timeout=seconds)
        return bool(exited)

    def kill(self) -> None:
        """Have it end, and everything it has started.

        This returns at once. What it sets off happens in another process and cannot be stopped any more.
        """
        with suppress(OSError):  # it has ended already
            self._life.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """End it as :meth:`kill` does, wait until nothing of it is left, and let go of what belonged to it.

        If it has exited by itself, there is nothing to wait for: its keeper sweeps up behind it.
        """
        self.kill()
        try:
            if self._following is not None and not self._exit.done():
                await asyncio.wait([self._following], timeout=END_SECONDS)
        finally:
            self._listening.cancel()
            if self._following is not None:
                self._following.cancel()
            for writer in self._writers:
                writer.transport.abort()

    def begin(self, wanted: Mapping[str, Any]) -> None:
        """Say what is to be run, and follow what becomes of it."""
        self._orders.write(msgspec.json.encode(wanted) + b"\n")
        self._following = asyncio.create_task(self._follow(wanted["argv"][0], wanted["cwd"]))

    async def _follow(self, program: str, cwd: str) -> None:
        """Learn how the CLI starts and exits, and wait until its keeper has ended the rest and is gone as well."""
        with suppress(ConnectionError):
            while report := await self._report():
                if "pid" in report:
                    self.pid = report["pid"]
                    self._started.set_result(None)
                elif "exit" in report:
                    self._exit.set_result(report["exit"])
                else:
                    self._exit.set_exception(_not_started(report, program, cwd))
        if not self._exit.done():
            self._exit.set_result(_KILLED)  # the keeper died, and the CLI with it

    async def _report(self) -> dict[str, int]:
        line = await self._reports.readline()
        return msgspec.json.decode(line, type=dict[str, int]) if line else {}

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await stderr.readline()
            except ValueError:  # longer than a line may be: the reader has dropped it
                continue
            if not line:
                return
            text = line.decode("utf-8", "replace").rstrip()
            self._stderr.append(text)
            if self._on_stderr is not None:
                try:
                    self._on_stderr(text)
                except Exception as error:  # noqa: BLE001 - the user's code; its failure harms nothing
                    name = type(error).__name__
                    log(
                        logging.ERROR, "A listener to the Claude CLI's standard error failed", {"error": name}
                    )


def _not_started(report: Mapping[str, int], program: str, cwd: str) -> AgentError:
    """Why there is no process."""
    number = report.get("failed", 0)
    cause = OSError(number, errno.errorcode.get(number, "unknown"))
    if report.get("in_folder"):
        return InvalidInputError(
            f"cwd: the Claude CLI cannot run in {cwd!r}. Choose a folder that exists and may be entered.",
            field="cwd",
            cause=cause,
        )
    if number == errno.ENOENT:
        return CLINotFoundError(cli_path=program, cause=cause)
    if number == errno.E2BIG:
        return InvalidInputError(
            "The system prompt, the tools and the MCP settings together are too long for a command line. "
            'Shorten them, or give the prompt as a file: system_prompt={"type": "file", "path": …}.',
            field="system_prompt",
            cause=cause,
        )
    return ProcessError(
        f"The Claude CLI at {program} could not be started: {cause.strerror}. "
        "Check that it is a program for this machine and that you may run it.",
        cause=cause,
    )
