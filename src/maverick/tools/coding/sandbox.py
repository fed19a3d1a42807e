"""A sandbox for commands: the workspace and the system's programs, and nothing else; no network.

It is made with bubblewrap. Inside, the system's folders can be read, the workspace can be changed except for what is
protected in it, ``/tmp`` is empty and goes away, no other process can be seen, and there is no network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from maverick.tools.coding.process import plain_environment
from maverick.tools.coding.workspace import Workspace

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "passwd",
)
_COMPARE = (
    'while [ "$1" != -- ]; do [ "$(stat -Lc %d:%i "./$1")" = "$2" ] || { echo "$1 has changed."; exit 126; }; shift 2; '
    'done; exec /bin/sh -c "$2"'
)
"""A script for inside: compares pairs of a name and an identity with what is there, then runs the command after them."""
_LOCKED = ("--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev")


@cache
def sandbox_problem() -> str:
    """Why commands can not be put into a sandbox here; empty if they can. Tried out once."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (bwrap) is not installed, so a command can not be put into a sandbox"
    try:
        tried = subprocess.run(  # noqa: S603 - the program that was found, with nothing of anybody's
            [program, *_LOCKED, *_system_folders(), "true"], capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return "bubblewrap (bwrap) can not be run here, so a command can not be put into a sandbox"
    if tried.returncode != 0:
        return (
            "this system does not let bubblewrap (bwrap) make a sandbox, so a command would run without one"
        )
    return ""


class Sandbox:
    """What a command is wrapped in.

    Args:
        workspace: The folder it may change.
        readable: Folders outside of it that it may read, such as those of compilers; by default, this Python's.
    """

    def __init__(self, workspace: Workspace, readable: Sequence[Path] | None = None) -> None:
        own = (Path(sys.prefix), Path(sys.base_prefix)) if readable is None else readable
        self._workspace = workspace
        self._readable = [str(path.resolve()) for path in own]
        self._programs = "".join(f"{path}/bin:" for path in self._readable)

    def wrap(self, command: str) -> list[str]:
        """The program that runs a command line in the sandbox.

        An earlier command may have put a link in place of something protected, and bubblewrap would follow it, outside
        of the sandbox. So what is mounted is compared with what we have seen there, before the command runs.
        """
        words = [shutil.which("bwrap") or "bwrap", *_LOCKED, *_system_folders(), "--tmpfs", "/tmp"]  # noqa: S108 - its own, inside
        for path in self._readable:
            words += ["--ro-bind-try", path, path]
        root = str(self._workspace.root)
        words += ["--bind", root, root]
        expected: list[str] = []
        for name in self._workspace.protected:
            if (identity := self._workspace.identity(name)) is not None:
                words += ["--ro-bind", f"{root}/{name}", f"{root}/{name}"]
                expected += [name, identity]
        words += ["--clearenv"]
        told = plain_environment() | {"HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108 - the same
        told["PATH"] = self._programs + told["PATH"]
        for variable, value in told.items():
            words += ["--setenv", variable, value]
        return [*words, "--chdir", root, "--", "/bin/sh", "-c", _COMPARE, "sh", *expected, "--", command]


@cache
def _system_folders() -> tuple[str, ...]:
    words: list[str] = []
    for path in _SYSTEM:
        if os.path.islink(path):  # noqa: PTH114 - a text is what is passed on
            words += ["--symlink", os.readlink(path), path]  # noqa: PTH115 - the same
        else:
            words += ["--ro-bind-try", path, path]
    for name in _SETTINGS:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return tuple(words)
