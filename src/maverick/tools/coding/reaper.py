"""Runs a command and kills whatever is left of it; a program of its own, started by ``process.py``.

On Linux a process can ask to inherit the orphans among its descendants. So none of them gets away, not even one that
has left its session, and when this process is told to end, or whoever started it dies, all of them end first.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TOLD_TO_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_GRACE = 0.2
_EXIT_NOT_FOUND = 127


def main(owner: int, argv: list[str]) -> int:
    """Run the command for the process that owns it; its exit code is ours."""
    # The signals are waited for, never delivered: an owner that dies sends one for each of its threads, and a second one
    # that interrupted us while we clean up would set the descendants free.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [*_TOLD_TO_END, signal.SIGCHLD])
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != owner:  # it has died before it could be watched
        return 1
    reaper = os.getpid()
    command = os.fork()
    if command == 0:
        # Should somebody kill the reaper, nobody else would end it.
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _become(argv, reaper)
    code = _watch(command)
    _kill_descendants()
    return code if code >= 0 else 128 - code


def _become(argv: list[str], parent: int) -> None:
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program inherits that
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - the command, as it was given to us
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(_EXIT_NOT_FOUND)


def _watch(command: int) -> int:
    """Wait until the command has ended, or we are told to end."""
    while True:
        number = signal.sigwait([*_TOLD_TO_END, signal.SIGCHLD])
        if number != signal.SIGCHLD:
            return 128 + number
        pid, status = os.waitpid(command, os.WNOHANG)
        if pid == command:
            return os.waitstatus_to_exitcode(status)


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
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
