"""Runs code without what Python on Windows does not have: ``python tests/without_posix.py CODE``.

What the standard library and other packages need of it stays theirs; they choose by ``sys.platform``.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec

MODULES = frozenset(
    ["fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"]
)
OF_OS = [
    "O_CLOEXEC",
    "O_DIRECTORY",
    "O_NOCTTY",
    "O_NOFOLLOW",
    "O_NONBLOCK",
    "WNOHANG",
    "WUNTRACED",
    "chown",
    "fchmod",
    "fork",
    "geteuid",
    "getpgid",
    "getuid",
    "killpg",
    "mkfifo",
    "pidfd_open",
    "register_at_fork",
    "sched_getaffinity",
    "setsid",
    "statvfs",
    "sysconf",
    "uname",
]
OF_SIGNAL = [
    "SIGALRM",
    "SIGCHLD",
    "SIGCONT",
    "SIGHUP",
    "SIGKILL",
    "SIGPIPE",
    "SIGQUIT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGUSR1",
    "SIGUSR2",
    "SIGWINCH",
]
_OTHERS = [
    "aiohttp",
    "ctypes",
    "getpass",
    "http.client",
    "pydantic",
    "shutil",
    "sqlite3",
    "ssl",
    "subprocess",
    "tempfile",
    "textual.app",
    "uuid",
]


class _Hidden:
    """Refuses the modules, as if they were not there."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def hide() -> None:
    """Hide it from whatever is imported from now on."""
    for name in _OTHERS:
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, _Hidden())
    for owner, names in ((os, OF_OS), (signal, OF_SIGNAL), (socket, ["send_fds", "recv_fds"])):
        for name in names:
            delattr(owner, name)
    os.supports_dir_fd.clear()
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on, it asks sched_getaffinity where there was one
        setattr(os, "process_cpu_count", os.cpu_count)  # noqa: B010 - not declared for older versions
    setattr(asyncio.SelectorEventLoop, "add_signal_handler", _refused)  # noqa: B010 - not the same type


def _refused(*_: object) -> None:
    raise NotImplementedError


if __name__ == "__main__":
    hide()
    exec(sys.argv[1])  # noqa: S102 - the test's own code
