"""The program of a small process that starts CLIs and ends them with whoever asked for them.

It is run as a file and uses nothing but the standard library. Its standard input is a socket to the process that
uses Maverick; closing that ends the program. It forks a *keeper*, the keeper forks the process that will be the CLI,
and both wait: so starting a CLI costs no fork, only an exec. A CLI is asked for by handing over four sockets: three
are its standard streams, and its life hangs on the fourth. When that one is shut at the other end, because somebody
wants it so or because the process there died, of ``SIGKILL`` even, the keeper ends the CLI and everything it has
started. The CLI for its part dies with its keeper.

Killing a process group would not do: the CLI runs each shell command in a session of its own. So the keeper is the
*subreaper* of all that descends from it (Linux): whatever loses its parent becomes the keeper's child and can be
found. Elsewhere the CLI's process group is what is ended.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 0.4
"""How long the CLI has to write its transcript before it is killed."""

_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36
_IN_FOLDER = b"cwd "
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def serve(requests: socket.socket) -> None:
    """Have one keeper waiting at any time, until the other end of the socket is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are reaped by the kernel
    taken = b"taken"
    while taken:
        told, teller = os.pipe()
        if os.fork() == 0:
            try:
                os.close(told)
                keep(requests, teller)
            finally:
                os._exit(0)  # whatever happened, a keeper must not go on as a second server
        os.close(teller)
        taken = os.read(told, 1)
        os.close(told)


def keep(requests: socket.socket, teller: int) -> None:
    """Have a CLI started when one is wanted, tell how it ends, and leave nothing of it behind."""
    wake, waker = os.pipe()
    for end in (wake, waker):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    if _libc is not None:
        _libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    scratch = tempfile.mkdtemp(prefix="maverick-cli-")
    orders, orders_for_cli = socket.socketpair()
    cli = os.fork()
    if cli == 0:
        try:
            orders.close()
            os.close(teller)
            _become_cli(requests, orders_for_cli, scratch)
        finally:
            os._exit(127)
    orders_for_cli.close()
    requests.close()
    place = b""
    try:
        place, handles, _, _ = socket.recv_fds(orders, 4096, 1)
        if place:
            with suppress(BrokenPipeError):  # whoever started this keeper was killed
                os.write(teller, b"\0")
            os.close(teller)
            life = socket.socket(fileno=handles[0])  # it is closed last of all: that says that all is over
            _watch(cli, orders, life, wake)
    finally:
        orders.close()
        _end_descendants(cli)
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):  # the CLI listens on a socket there, and leaves it when it is killed
            Path(os.fsdecode(place), "cc-socks", f"{cli}.sock").unlink()


def _become_cli(requests: socket.socket, orders: socket.socket, scratch: str) -> None:
    """Wait until a CLI is wanted, tell the keeper, and run it; why it did not run goes to the keeper too."""
    os.setsid()
    if _libc is not None:
        _libc.prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program inherits that
    asked, handles, _, _ = socket.recv_fds(requests, 1, 4)
    if not asked:
        return
    life = socket.socket(fileno=handles[3])
    wanted = json.loads(_line(life))
    place = wanted["env"].get("XDG_RUNTIME_DIR") or wanted["env"].get("TMPDIR") or tempfile.gettempdir()
    socket.send_fds(orders, [os.fsencode(place)], [life.fileno()])
    for number, handle in enumerate(handles[:3]):
        os.dup2(handle, number)
    step = _IN_FOLDER
    try:
        os.chdir(wanted["cwd"])
        step = b""
        argv = wanted["argv"]
        os.execvpe(argv[0], argv, {"CLAUDE_CODE_TMPDIR": scratch, **wanted["env"]})  # noqa: S606 - no shell
    except OSError as error:
        orders.sendall(step + str(error.errno).encode())


def _watch(cli: int, orders: socket.socket, life: socket.socket, wake: int) -> None:
    """Tell whether the CLI runs, and how it exits; end it when the other end lets go."""
    failure = orders.recv(64)  # the socket closes by itself when the program runs
    if failure:
        number = int(failure.removeprefix(_IN_FOLDER))
        _tell(life, failed=number, in_folder=int(failure.startswith(_IN_FOLDER)))
        return
    _tell(life, pid=cli)
    exit_code = None
    while exit_code is None:
        ready, _, _ = select.select([life.fileno(), wake], [], [])
        exit_code = _reap(cli, wake)
        if exit_code is None and life.fileno() in ready:
            exit_code = _terminate(cli, wake)
    _tell(life, exit=exit_code)


def _terminate(cli: int, wake: int) -> int:
    """Ask the CLI to end, wait a moment, and kill it."""
    os.killpg(cli, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        select.select([wake], [], [], left)
        if (exit_code := _reap(cli, wake)) is not None:
            return exit_code
    os.killpg(cli, signal.SIGKILL)
    _, status = os.waitpid(cli, 0)
    return os.waitstatus_to_exitcode(status)


def _reap(cli: int, wake: int) -> int | None:
    """Bury whoever has died; the CLI's exit code, if it was among them."""
    with suppress(BlockingIOError):
        os.read(wake, 4096)
    exit_code = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == cli:
                exit_code = os.waitstatus_to_exitcode(status)
    return exit_code


def _end_descendants(cli: int) -> None:
    """Kill the children, which makes their children ours, until there are none."""
    with suppress(ChildProcessError):
        while True:
            for pid in _children(cli):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children(cli: int) -> Iterator[int]:
    """What to kill: the children of this process, or the CLI's group where they cannot be listed."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    except OSError:
        yield -cli
    else:
        yield from map(int, listed.split())


def _line(life: socket.socket) -> bytes:
    """What the other end wants run: one line of JSON."""
    received = bytearray()
    while not received.endswith(b"\n"):
        piece = life.recv(1 << 16)
        if not piece:
            raise SystemExit  # it changed its mind, or died
        received += piece
    return bytes(received)


def _tell(life: socket.socket, **facts: int) -> None:
    with suppress(OSError):  # nobody may be there any more
        life.sendall(json.dumps(facts).encode() + b"\n")


if __name__ == "__main__":
    serve(socket.socket(fileno=0))
