"""Runs a command and kills whatever is left of it; a program of its own, started by ``process.py``.

On Linux a process can ask to inherit the orphans among its descendants. So none of them gets away, not even one that
has left its session, and when this process is told to end, or whoever started it dies, all of them end first.

A command may turn against whoever watches it: it can kill or stop its parent, as it can any process of its user. So
there are two of us, one above the other and each in a session of its own. If either is killed, or the lower one stopped,
the other one ends all that is left. Only a command that looks for both, and kills them at once, gets away.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from binascii import a2b_base64
from collections.abc import Callable

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TOLD_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_GRACE = 0.2
_EXIT_NOT_FOUND = 127


def main(owner: int, argv: list[bytes]) -> int:
    """Run the command for the process that owns it; its exit code is ours."""
    # The signals are waited for, never delivered: an owner that dies sends one for each of its threads, and a second one
    # that interrupted us while we clean up would set the descendants free.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [*_TOLD_TO_END, signal.SIGCHLD])

    def watch_command(upper: int) -> int:
        return _watch_over(lambda lower: _become(argv, lower, mask), upper)

    # A command may stop and go on again; somebody has stopped the lower one of us only to get rid of it.
    return _watch_over(watch_command, owner, ends_when_stopped=True)


def _watch_over(work: Callable[[int], int], owner: int, *, ends_when_stopped: bool = False) -> int:
    """Do something in a child that is told our number, and kill whatever is left of it; its exit code is ours."""
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    _control(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != owner:  # it has died before it could be watched
        return 1
    watcher = os.getpid()
    child = os.fork()
    if child == 0:
        os.setsid()
        os._exit(work(watcher))
    code = _wait(child, os.WUNTRACED if ends_when_stopped else 0)
    _kill_descendants()
    return code


def _become(argv: list[bytes], parent: int, mask: set[int]) -> int:
    """Turn into the command; return only if that fails."""
    _control(_PR_SET_PDEATHSIG, signal.SIGKILL)  # should both of us be killed
    if os.getppid() != parent:
        return 1
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program inherits that
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - the command, as it was given to us
    except (OSError, ValueError) as error:
        os.write(2, b"%s: %s\n" % (argv[0], str(error).encode()))
    return _EXIT_NOT_FOUND


def _control(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _wait(child: int, options: int) -> int:
    """Wait until the child has ended, or we are told to end; say how, as a shell does."""
    while True:
        number = signal.sigwait([*_TOLD_TO_END, signal.SIGCHLD])
        if number != signal.SIGCHLD:
            return 128 + number
        pid, status = os.waitpid(child, os.WNOHANG | options)
        if pid == child:
            return 128 + os.WSTOPSIG(status) if os.WIFSTOPPED(status) else _shell_code(status)


def _shell_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _kill_descendants() -> None:
    """Tell all descendants to end, then kill them, until there are none."""
    _signal_all(signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    while _reap() and time.monotonic() < deadline:
        time.sleep(0.005)
    while _reap():
        _signal_all(signal.SIGKILL)
        time.sleep(0.002)


def _reap() -> bool:
    """Take in those that have ended, and say whether there are others."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _signal_all(number: signal.Signals) -> None:
    for pid in _descendants():
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue  # it was faster


def _descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - this program starts with every command, so it loads little
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - the same
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue  # it has ended meanwhile
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        inner = children.get(waiting.pop(), [])
        found += inner
        waiting += inner
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), [a2b_base64(word) for word in sys.argv[2:]]))
