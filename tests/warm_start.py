"""Programs, started quickly: a process that has everything imported forks for each start.

What is started is a process of its own, with its own streams, folder and environment, that is signalled and dies as any
other. It only does not pay for starting Python and for the imports, which is most of what a short one does. What a start
itself does (which modules it loads, how long it takes) is tested with real ones: ``cli/test_start.py``. Where Python
itself is to start with other settings than the tests have, it is a real one too.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

_FIXED = ("PYTHON", "LC_", "LANG", "LD_")
"""How the names of the variables begin that are read as Python starts."""
_READ_LATER = ("PYTHONPATH", "PYTHON_KEYRING_BACKEND")
"""Those that are obeyed later too."""


class Program(subprocess.Popen[Any]):
    """A module that is run as a program; used as :class:`subprocess.Popen` is.

    Args:
        module: The name of the module.
        words: Its arguments.
        env: Its whole environment.
        at_terminal: Whether its standard input is a terminal that becomes that of its session.
        options: More of :class:`subprocess.Popen`.
    """

    def __init__(
        self, module: str, *words: str, env: Mapping[str, str], at_terminal: bool = False, **options: Any
    ) -> None:
        self._at_terminal = at_terminal
        self._line: socket.socket | None = None
        super().__init__([sys.executable, "-P", "-m", module, *words], env=env, **options)

    def _execute_child(self, command: Sequence[str], *details: Any) -> None:
        cwd, environment, pipes, in_session = details[4], details[5], details[9:15], details[20]
        if _fixed(environment) != _fixed({**os.environ, "PYTHONWARNINGS": "error"}):
            super()._execute_child(command, *details)  # type: ignore[misc] # a method of its own
            return
        told = {
            "module": command[3],
            "words": command[4:],
            "folder": os.path.abspath(cwd or "."),  # noqa: PTH100 - as a string
            "environment": environment,
            "in_session": in_session or self._at_terminal,
            "at_terminal": self._at_terminal,
        }
        streams = [end if end >= 0 else own for own, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        self._line = _forker().start(json.dumps(told).encode(), streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined] # as what it stands for does
        number = self._line.recv(16)
        assert number, "the process that forks has ended; what it says is in the output of the tests"
        self.pid = int(number)

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if self._line is None:
            return super()._try_wait(flags)  # type: ignore[misc, no-any-return]
        self._line.setblocking(not flags & os.WNOHANG)
        try:
            status = int(self._line.recv(16))
        except BlockingIOError:
            return 0, 0
        self._line.close()
        return self.pid, status

    def _internal_poll(self, *details: Any, **named: Any) -> int | None:
        if self._line is None:
            return super()._internal_poll(*details, **named)  # type: ignore[misc, no-any-return]
        if self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined] # else it is being waited for
            try:
                if self.returncode is None and (ended := self._try_wait(os.WNOHANG))[0]:
                    self.returncode = os.waitstatus_to_exitcode(ended[1])
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


class Script(Program):
    """A module of the tests that is run as a program.

    Args:
        module: The name of the module.
        words: Its arguments.
        options: More of :class:`subprocess.Popen`.
    """

    def __init__(self, module: str, *words: str, **options: Any) -> None:
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTHONWARNINGS": "error"}
        super().__init__(module, *words, env=env, **options)

    async def ended(self, seconds: float = 60) -> int:
        """Wait for its end, for so long; returns its exit code."""
        return await asyncio.to_thread(self.wait, seconds)


class Maverick(Program):
    """The command ``maverick`` with some words."""

    def __init__(self, *words: str, **options: Any) -> None:
        super().__init__("maverick", *words, **options)


def command(module: str, *words: str) -> list[str]:
    """What another program starts a module with. A signal does not reach it, but the end of its input does."""
    program = Path(__file__).with_name("warm_command.py")
    return [sys.executable, "-I", "-S", str(program), _forker().address, module, *words]


def for_shells(folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Let a shell start ``maverick`` too: its environment, given a folder for the command."""
    folder.mkdir()
    file = folder / "maverick"
    file.write_text(f'#!/bin/sh\nexec {shlex.join(command("maverick"))} "$@"\n')
    file.chmod(0o755)
    return {**env, "PATH": f"{folder}{os.pathsep}{env['PATH']}"}


class _Forker:
    """The process that forks: one for all workers of a test run, made by the first that needs it."""

    def __init__(self) -> None:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", os.getpid())
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"maverick-forker-{run}-{crc32(repr(_fixed(os.environ)).encode())}"
        """Where starts are asked for, among the sockets that are no files."""
        self._door = self._enter(f"\0{self.address}")
        atexit.register(self._end)

    def _enter(self, address: str) -> socket.socket:
        while True:
            door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                door.connect(address)
            except ConnectionRefusedError:
                door.close()
            else:
                return door
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as entrance:
                try:
                    entrance.bind(address)
                except OSError:  # another worker was faster, and is about to listen
                    continue
                entrance.listen()
                self._start(entrance.fileno())

    def _start(self, entrance: int) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-P", Path(__file__).with_name("forker.py"), str(entrance)],
            # Nothing else of a test, since it is there for all the others too.
            env={**dict(_fixed(os.environ)), "PATH": os.environ["PATH"], "PYTHONWARNINGS": "error"},
            pass_fds=[entrance],
            stdin=subprocess.DEVNULL,
        )

    def start(self, told: bytes, streams: Sequence[int]) -> socket.socket:
        """Start one; what comes over the socket is its number, and in the end how it ended."""
        line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(self._door, [told], [*streams, theirs.fileno()])
        return line

    def _end(self) -> None:
        self._door.close()
        if self._process is not None:
            self._process.wait()  # it ends when the last worker has left


def _fixed(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The variables that are read as Python starts, and never again."""
    names = (name for name in environment if name.startswith(_FIXED) and name not in _READ_LATER)
    return tuple((name, environment[name]) for name in sorted(names))


@functools.cache
def _forker() -> _Forker:
    return _Forker()
