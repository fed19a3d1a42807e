"""Forks for each program it is told to start (:mod:`warm_start`); the child becomes that program."""

from __future__ import annotations

import atexit
import fcntl
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import sys
import termios
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from importlib import import_module
from typing import Any, NoReturn, TextIO

_PRELOADED = (
    "maverick.cli.main", "maverick.cli.run.arguments", "maverick.cli.run.command", "maverick.cli.runs.arguments",
    "maverick.cli.acp.command", "maverick.cli.arguments", "sqlalchemy.dialects.sqlite.aiosqlite", "maverick.cli.chat", "maverick.cli.serve", "maverick.cli.tui", "maverick.chat.runner", "maverick.server.app",
    "maverick.tui.app", "maverick.fleet.worker", "maverick.journal.sqlite.journal",
    "maverick.journal.postgres.journal", "maverick.providers.claude.client", "maverick.providers.openai.client",
    "maverick.providers.http.aiohttp_transport", "maverick.providers.offline", "maverick.tools.typed_arguments",
    "maverick.cli.runs.command", "maverick.cli.runs.list", "maverick.cli.runs.show", "concurrent.futures.thread",
    "encodings.ascii", "encodings.utf_8_sig", "uvicorn", "mcp", "yaml",
)  # fmt: skip
_SAID = ("add buy milk tomorrow", "show my tasks", "what else would you say to that?")
_MOST = 1 << 20
"""How much is told of a start, in bytes at most."""


def serve(entrance: socket.socket) -> str:
    """Fork until whoever came in has left; returns in each child, with the module that it is to run."""
    _warm_up()
    assert len(os.listdir("/proc/self/task")) == 1, "no thread is lost by forking"  # noqa: PTH208 - of no folder
    gc.freeze()
    heard, rung = os.pipe()
    os.set_blocking(rung, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(rung)
    lines: dict[int, socket.socket] = {}
    doors = [entrance.accept()[0]]
    while doors:
        watched: list[socket.socket | int] = [entrance, heard, *doors]
        ready, _, _ = select.select(watched, [], [])
        if heard in ready:
            os.read(heard, 4096)
            _tell_ends(lines)
        if entrance in ready:
            doors.append(entrance.accept()[0])
        for door in [door for door in doors if door in ready]:
            told, streams, _, _ = socket.recv_fds(door, _MOST, 4)
            if not told:
                doors.remove(door)
                door.close()
                continue
            *standard, line_number = streams
            line = socket.socket(fileno=line_number)
            if pid := os.fork():
                for stream in standard:
                    os.close(stream)
                line.send(b"%d" % pid)
                lines[pid] = line
                continue
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for inherited in (entrance, line, *doors, *lines.values()):
                inherited.close()
            for inherited_pipe in (heard, rung):
                os.close(inherited_pipe)
            return _become(json.loads(told), standard)
    os._exit(0)


def _warm_up() -> None:
    """Do once what every program would do for itself when it first needs it."""
    for name in _PRELOADED:
        with suppress(ImportError):  # what an extra that is not installed has
            import_module(name)
    with suppress(ImportError):
        from maverick.chat.offline.meaning import meaning_of

        for said in _SAID:  # each of the patterns that are compiled on use is tried
            meaning_of(said, "", "", date(2026, 1, 1))
    from maverick.exceptions import JournalDamagedError
    from maverick.journal.codec import VERSION, decode_entry

    with suppress(JournalDamagedError):  # nothing is no entry, and what reads one is made all the same
        decode_entry(b"", VERSION)


def _tell_ends(lines: dict[int, socket.socket]) -> None:
    while lines:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with lines.pop(pid) as line, suppress(OSError):  # nobody waits for it any more
            line.send(b"%d" % status)


def _become(told: dict[str, Any], standard: Sequence[int]) -> str:
    if told["in_session"]:
        os.setsid()
    if told["at_terminal"]:
        fcntl.ioctl(standard[0], termios.TIOCSCTTY, 0)
    for number, stream in enumerate(standard):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    time.tzset()
    # Not the folder it is in: that is how a command that is installed starts.
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        opened = _opened(number, mode, getattr(sys, name))
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)
    sys.argv[1:] = told["words"]
    return str(told["module"])


def _opened(number: int, mode: str, like: TextIO) -> io.TextIOWrapper:
    """A standard stream as Python opens it."""
    binary = open(number, f"{mode}b", buffering=-1, closefd=False)  # noqa: SIM115 - for good, by its number
    whole_lines = like.name == "<stderr>" or os.isatty(number)
    return io.TextIOWrapper(binary, like.encoding, like.errors, line_buffering=whole_lines)


def _leave(code: object) -> NoReturn:
    """End as Python does, but for taking apart hundreds of modules, each page of which would be copied for it."""
    threading._shutdown()  # type: ignore[attr-defined] # waits for threads, as Python does
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):  # nobody reads it any more, or the command has closed it
        sys.stdout.flush()
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    module = serve(socket.socket(fileno=int(sys.argv[1])))
    code: object = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as called:
        code = called.code
    except BaseException:  # noqa: BLE001 - it is told as Python tells it, and the process ends
        traceback.print_exc()
    _leave(code)
