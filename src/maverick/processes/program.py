"""Programs that cannot outlive this process, and end with everything they have started (promise P4).

A program lives as long as one socket is open, its lifeline. Shutting that socket, which no cancellation can interrupt,
ends the program and all its descendants; the kernel shuts it when this process dies, whatever it dies of. See
``supervisor.py`` for the other end.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from errno import ENOSYS
from pathlib import Path
from typing import BinaryIO, NotRequired, Self, TypeAlias, TypedDict, Unpack

from maverick.config.programs import plain_environment
from maverick.exceptions import ToolError

END_SECONDS = 2.0
"""How long to wait for the end of a program that was told to end; its keeper needs a fraction of it."""

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_CHUNK = 65_536
_LAST_OUTPUT = 0.2
"""Seconds the last output of a program has to arrive once it has exited."""


class _Supervisor:
    """The way to the supervisor of this process, which is started when the first program is. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None
        self._pid = 0

    def hand_over(self, handles: Sequence[int]) -> None:
        """Have a keeper take over the files of a program, its lifeline first."""
        with self._lock:
            self.wake()
            try:
                socket.send_fds(self._started(), [b"\0"], handles)
            except OSError:  # it was killed
                self._forget()
                socket.send_fds(self._started(), [b"\0"], handles)

    def wake(self) -> None:
        """Have it continue, should a program have stopped it."""
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGCONT)

    def renew(self) -> None:
        """Let go of what was inherited: a forked child has a supervisor of its own."""
        self._lock = threading.Lock()
        self._forget()

    def _started(self) -> socket.socket:
        if self._requests is None:
            ours, theirs = socket.socketpair()
            try:
                process = subprocess.Popen(  # noqa: S603 - a program of ours, with no input of a user
                    [sys.executable, "-I", "-S", str(_SUPERVISOR)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env=plain_environment(),  # a program can read the environment of the processes above it
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
            finally:
                theirs.close()
            process.returncode = 0  # it ends with this process, so it is never waited for
            self._pid = process.pid
            self._requests = ours
        return self._requests

    def _forget(self) -> None:
        self._pid = 0
        if self._requests is not None:
            self._requests.close()
            self._requests = None


_supervisor = _Supervisor()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_supervisor.renew)

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Options(TypedDict):
    """How a program is started."""

    env: Mapping[str, str]
    """Its whole environment."""
    cwd: Path | str
    """The folder it runs in."""
    scratch: NotRequired[str]
    """The variable in which it is told of a folder of its own, which is removed with it."""
    litter: NotRequired[str]
    """A file it may leave, to be removed; ``{pid}`` in it is its process id."""


class Program:
    """A program that runs; :meth:`start` makes one."""

    def __init__(
        self, lifeline: socket.socket, reports: asyncio.StreamReader, orders: asyncio.StreamWriter
    ) -> None:
        self._lifeline = lifeline
        self._reports = reports
        self._orders = orders
        loop = asyncio.get_running_loop()
        self._started: asyncio.Future[dict[str, int]] = loop.create_future()
        self._exit: asyncio.Future[int] = loop.create_future()
        self._following = asyncio.create_task(self._follow())
        self.pid = 0
        """Its process id."""

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        streams: Sequence[int],
        *,
        files: Sequence[int] = (),
        **options: Unpack[Options],
    ) -> Self:
        """Start a program, with open files for its standard input, output and error.

        Other ``files`` are inherited under the same numbers; ``options`` are its environment and its folder.

        Raises:
            OSError: It could not be started; ``filename`` says whether that is because of the folder.
            ValueError: An argument or a variable is not one.
        """
        if not hasattr(socket, "send_fds"):
            raise OSError(ENOSYS, "Maverick starts programs on Linux and macOS only", argv[0])
        env, cwd = options["env"], str(options["cwd"])
        for word in (*argv, *env, *env.values()):
            if b"\0" in os.fsencode(word):
                raise ValueError("embedded NUL character")
        order = {"argv": list(argv), "files": list(files), "scratch": "", "litter": "", **options}
        order |= {"env": dict(env), "cwd": cwd}
        lifeline, theirs = socket.socketpair()
        try:
            _supervisor.hand_over([theirs.fileno(), *streams, *files])
            reports, orders = await asyncio.open_connection(sock=lifeline)
        except BaseException:
            lifeline.close()
            raise
        finally:
            theirs.close()
        program = cls(lifeline, reports, orders)
        orders.write(json.dumps(order).encode() + b"\n")
        try:
            report = await asyncio.shield(program._started)
        except BaseException:
            await program.aclose()
            raise
        if (number := report.get("failed")) is not None:
            orders.transport.abort()
            raise OSError(number, os.strerror(number), cwd if report["in_folder"] else argv[0])
        program.pid = report.get("pid", 0)  # a program may have killed its keeper before that could tell
        return program

    @classmethod
    async def connect(
        cls, argv: Sequence[str], limits: Sequence[int], **options: Unpack[Options]
    ) -> tuple[Self, list[Streams]]:
        """Start a program whose standard streams are ours to write and read.

        Args:
            argv: The program and its arguments.
            limits: The longest line of its standard input, output and error; one that is left out leads nowhere.
            options: As for :meth:`start`.

        Raises:
            OSError: It could not be started, as :meth:`start` says.
            ValueError: An argument or a variable is not one.
        """
        pairs = [socket.socketpair() for _ in limits]
        streams: list[Streams] = []
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            for (end, _), limit in zip(pairs, limits, strict=True):
                streams.append(await asyncio.open_connection(sock=end, limit=limit))
            theirs = [end.fileno() for _, end in pairs]
            program = await cls.start(argv, [*theirs, *[nothing] * (3 - len(theirs))], **options)
        except BaseException:
            for _, writer in streams:
                writer.transport.abort()
            for end, _ in pairs[len(streams) :]:
                end.close()
            raise
        finally:
            os.close(nothing)
            for _, end in pairs:
                end.close()
        return program, streams

    async def wait(self) -> int:
        """Its exit code, once it has exited; a negative one is the signal that ended it."""
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
            self._lifeline.shutdown(socket.SHUT_WR)
        _supervisor.wake()

    async def aclose(self) -> None:
        """End it as :meth:`kill` does, and wait until nothing of it is left."""
        self.kill()
        try:
            await asyncio.wait([self._following], timeout=END_SECONDS)
        finally:
            self._following.cancel()
            if not self._exit.done():
                self._exit.set_result(-signal.SIGKILL)
            self._orders.transport.abort()

    async def _follow(self) -> None:
        """Learn how it starts and exits, and wait until its keeper has ended the rest and is gone as well."""
        self._started.set_result(await self._report())
        while report := await self._report():
            self._exit.set_result(report["exit"])
        if not self._exit.done():
            _supervisor.wake()
            self._exit.set_result(-signal.SIGKILL)  # its keeper died, and the program with it

    async def _report(self) -> dict[str, int]:
        try:
            line = await self._reports.readline()
        except ConnectionError:
            line = b""
        return json.loads(line) if line else {}


async def run_program(
    argv: Sequence[str],
    take: Callable[[bytes], bool],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    files: Sequence[int] = (),
    errors: int | None = None,
) -> int:
    """Run a program to its end, or until its output is not wanted any more, and return its exit code as a shell does.

    It has no input. Whatever ends this task ends the program, and everything it has started. ``take`` is given each piece
    of its output and says whether more is wanted; errors are among it, unless there is an open file for ``errors``. By
    default it gets the environment of :func:`~maverick.config.programs.plain_environment`.

    Raises:
        ToolError: It could not be started.
    """
    reading_end, writing_end = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    with os.fdopen(reading_end, "rb", 0) as pipe:
        try:
            program = await Program.start(
                argv,
                (nothing, writing_end, writing_end if errors is None else errors),
                env=plain_environment() if env is None else env,
                cwd=cwd or Path.cwd(),
                files=files,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"{argv[0]} could not be started: {error}.") from error
        finally:
            os.close(writing_end)
            os.close(nothing)
        reading = asyncio.ensure_future(_read(pipe, take))
        exiting = asyncio.ensure_future(program.wait())
        try:
            await asyncio.wait([exiting, reading], return_when=asyncio.FIRST_COMPLETED)
            if reading.done() and reading.result():
                await asyncio.wait([exiting])  # it has closed its output, and may still have something to do
            await asyncio.wait([reading], timeout=_LAST_OUTPUT)
        finally:
            try:
                await program.aclose()
            finally:
                reading.cancel()
                await asyncio.wait([reading])
    code = await exiting
    return code if code >= 0 else 128 - code


async def _read(pipe: BinaryIO, take: Callable[[bytes], bool]) -> bool:
    """Read until the output ends or is not wanted any more; say whether it was the former."""
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
