"""The process that starts programs for us and ends them with everything they have started.

It is run as a file and uses nothing but the standard library. There is one for each process that uses Maverick; its
standard input is a socket to that process. A program is asked for by handing over open files: the program's *lifeline*,
which is a socket, its three standard streams, and files it is to inherit. For each program the supervisor forks a
*keeper*, which forks the program. When the other end of the lifeline is shut, because the program is to end or because
the process there has died, even of ``SIGKILL``, the keeper ends the program and all its descendants.

Killing a process group would not do: a process can leave its group and its session. So the keeper is the *subreaper* of
its descendants (Linux): whatever loses its parent becomes the keeper's child and can be found. A program may also turn
against its keeper, as against any process of its user. So the supervisor is a subreaper too: if a keeper is killed or
stopped, the supervisor ends what is left; if the supervisor is killed, the keepers end everything. Only a program that
finds both and kills them at once gets away. Where there are no subreapers, the process group of the program is ended.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from errno import EAGAIN, EINVAL
from typing import Any

GRACE_SECONDS = 0.4
"""How long a program and its descendants have to end by themselves before they are killed."""

_MOST_FILES = 253
"""The most that Linux hands over at once."""
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
_TOLD_TO_END = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def serve(requests: socket.socket) -> None:
    """Fork a keeper for each program that is asked for, until the process that asks is gone."""
    wake = _wake_on(signal.SIGCHLD)
    _control(_SET_CHILD_SUBREAPER, 1)
    keepers: set[int] = set()
    waiting_for: list[Any] = [requests, wake, *_owner()]
    while True:
        ready, _, _ = select.select(waiting_for, [], [])
        _supervise(keepers, wake)
        if requests in ready:
            asked, handles, _, _ = socket.recv_fds(requests, 1, _MOST_FILES)
            if not asked:
                break
            keepers |= _fork_keeper(requests, handles)
        elif wake not in ready:
            break  # the owner has died, although another process still has its end of the socket
    signal.set_wakeup_fd(-1)
    for keeper in keepers:
        with suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGTERM)
    while keepers:  # until then, this process inherits what a keeper that is killed leaves
        _supervise(keepers, wake)
        time.sleep(0.01)


def _owner() -> list[int]:
    """A file that can be read once our parent has died, where the system has such files."""
    try:
        return [os.pidfd_open(os.getppid())]
    except (AttributeError, OSError):
        return []


def _fork_keeper(requests: socket.socket, handles: list[int]) -> set[int]:
    """Fork a keeper for a program; if the system allows no more processes, the other end is told."""
    for handle in handles:
        os.set_inheritable(handle, False)
    supervisor = os.getpid()
    try:
        keeper = os.fork()
    except OSError as error:
        with socket.socket(fileno=os.dup(handles[0])) as lifeline:
            _tell_failure(lifeline, error)
        return set()
    else:
        if keeper == 0:
            try:
                requests.close()
                keep(supervisor, handles)
            finally:
                os._exit(0)  # whatever happened, a keeper must not continue as a second supervisor
        return {keeper}
    finally:
        for handle in handles:
            os.close(handle)


def _supervise(keepers: set[int], wake: int) -> None:
    """Reap keepers, and kill what is left of those that could not clean up."""
    _read(wake)
    while (change := _next_change()) is not None:
        pid, status = change
        if os.WIFSTOPPED(status):
            _signal(pid, signal.SIGKILL)  # a program has stopped it to get away
        else:
            keepers.discard(pid)
    if _has_children_besides(keepers):
        for pid in _children().get(os.getpid(), ()):
            if pid not in keepers:
                _signal(pid, signal.SIGKILL)


def _next_change() -> tuple[int, int] | None:
    """A child that has died or was stopped, and its status."""
    try:
        pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def _has_children_besides(keepers: set[int]) -> bool:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as listed:  # noqa: PTH123 - quick, and often
            return not keepers.issuperset(map(int, listed.read().split()))
    except OSError:  # not every kernel lists them
        return _libc is not None


def keep(supervisor: int, handles: list[int]) -> None:
    """Run a program, tell how it starts and exits, and leave nothing of it behind."""
    wake = _wake_on(signal.SIGCHLD, *_TOLD_TO_END)
    os.setsid()
    _control(_SET_CHILD_SUBREAPER, 1)
    _control(_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != supervisor:
        return
    lifeline = socket.socket(fileno=handles[0])  # it is closed last of all: that says that all is over
    order = json.loads(_line(lifeline))
    scratch = tempfile.mkdtemp(prefix="maverick-") if order["scratch"] else ""
    if scratch:
        order["env"].setdefault(order["scratch"], scratch)
    failures, failing = os.pipe()
    keeper = os.getpid()
    try:
        program = os.fork()
    except OSError as error:
        shutil.rmtree(scratch, ignore_errors=True)
        _tell_failure(lifeline, error)
        return
    if program == 0:
        try:
            _become(order, keeper, handles[1:], failing)
        finally:
            os._exit(127)
    for handle in (*handles[1:], failing):
        os.close(handle)
    try:
        _watch(_Family(program), lifeline, failures, wake)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        with suppress(OSError):
            os.unlink(order["litter"].replace("{pid}", str(program)))  # noqa: PTH108 - it may be no path at all


def _become(order: dict[str, Any], keeper: int, handles: list[int], failing: int) -> None:
    """Turn into the program; why that failed goes to the keeper."""
    os.setsid()
    _control(_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    if os.getppid() != keeper:
        return
    # Python ignores SIGPIPE, and a program inherits that.
    for number in (signal.SIGCHLD, signal.SIGPIPE, *_TOLD_TO_END):
        signal.signal(number, signal.SIG_DFL)
    wanted = [0, 1, 2, *order["files"]]
    # First out of the way of the numbers that are wanted, since any of them may be taken.
    moved = [fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, max(wanted) + 1) for handle in (failing, *handles)]
    for handle, number in zip(moved[1:], wanted, strict=True):
        os.dup2(handle, number)
    in_folder = True
    try:
        os.chdir(order["cwd"])
        in_folder = False
        os.execvpe(order["argv"][0], order["argv"], order["env"])  # noqa: S606 - no shell
    except (OSError, ValueError) as error:
        reason = error.errno if isinstance(error, OSError) else EINVAL
        os.write(moved[0], json.dumps({"failed": reason, "in_folder": int(in_folder)}).encode())


def _watch(family: _Family, lifeline: socket.socket, failures: int, wake: int) -> None:
    """Tell whether the program runs, and how it exits; end it when it is told to end, and its descendants with it."""
    failure = os.read(failures, 256)  # it closes by itself when the program runs
    if failure:
        _tell(lifeline, **json.loads(failure))
        return
    _tell(lifeline, pid=family.program)
    told = False
    while family.exit_code is None and not told:
        ready, _, _ = select.select([lifeline.fileno(), wake], [], [])
        told = lifeline.fileno() in ready or not _TOLD_TO_END.isdisjoint(_read(wake))
        family.reap()
    if family.exit_code is not None:
        _tell(lifeline, exit=family.exit_code)
        family.end(wake)
    else:
        family.end(wake)
        _tell(lifeline, exit=-signal.SIGKILL if family.exit_code is None else family.exit_code)


class _Family:
    """A program and its descendants."""

    def __init__(self, program: int) -> None:
        self.program = program
        self.exit_code: int | None = None
        """How the program has exited; a negative number is the signal that ended it."""

    def reap(self) -> bool:
        """Reap the dead; whether any process is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.program:
                self.exit_code = os.waitstatus_to_exitcode(status)

    def end(self, wake: int) -> None:
        """Tell all processes to end, then kill them, until none is left."""
        deadline = time.monotonic() + GRACE_SECONDS
        if self.reap():
            self._signal(signal.SIGTERM, signal.SIGCONT)  # what was stopped cannot end by itself
        while self.reap() and (left := deadline - time.monotonic()) > 0:
            select.select([wake], [], [], left)
            _read(wake)
        while self.reap():
            self._signal(signal.SIGKILL)
            time.sleep(0.002)
        if _libc is None:  # without a subreaper, what is left of the group is not our child
            _signal(-self.program, signal.SIGKILL)

    def _signal(self, *numbers: signal.Signals) -> None:
        children = _children()
        waiting, found = [os.getpid()], list[int]()
        while waiting:
            inner = children.get(waiting.pop(), [])
            found += inner
            waiting += inner
        for pid in found or [-self.program]:
            for number in numbers:
                _signal(pid, number)


def _children() -> dict[int, list[int]]:
    """The children of every process; nothing where there is no ``/proc``."""
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if _libc is not None else ():  # noqa: PTH208 - only names
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
                with open(f"/proc/{name}/stat", "rb") as status:  # noqa: PTH123 - quick, and often
                    parent = int(status.read().rpartition(b")")[2].split()[1])
                found.setdefault(parent, []).append(int(name))
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _wake_on(*numbers: signal.Signals) -> int:
    """A file that can be read when one of these signals has come; each byte is a signal's number."""
    wake, waker = os.pipe()
    for end in (wake, waker):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, lambda *_: None)
    return wake


def _read(wake: int) -> bytes:
    with suppress(BlockingIOError):
        return os.read(wake, 4096)
    return b""


def _control(option: int, value: int) -> None:
    if _libc is not None:
        _libc.prctl(option, value, 0, 0, 0)


def _line(lifeline: socket.socket) -> bytes:
    """What the other end wants run: one line of JSON."""
    received = bytearray()
    while not received.endswith(b"\n"):
        piece = lifeline.recv(1 << 16)
        if not piece:
            raise SystemExit  # it changed its mind, or died
        received += piece
    return bytes(received)


def _tell_failure(lifeline: socket.socket, error: OSError) -> None:
    _tell(lifeline, failed=error.errno or EAGAIN, in_folder=0)


def _tell(lifeline: socket.socket, **facts: int) -> None:
    with suppress(OSError):  # the other end may be gone
        lifeline.sendall(json.dumps(facts).encode() + b"\n")


if __name__ == "__main__":
    serve(socket.socket(fileno=0))
