"""A sandbox for commands: the workspace and the system's programs, and nothing else; no network.

It is made with bubblewrap. Inside, the system's folders can be read, the workspace can be changed except for what is
protected in it, ``/tmp`` is empty and goes away, no other process can be seen, and there is no network.

What is protected and there is mounted read-only. Folders on the way to it are mounted too, since a mounted folder can
not be moved away, and another one put in its place. A protected folder that does not exist is made, empty, for as long as
the command runs; a protected file that the command makes is held back afterwards, under another name.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

from msgspec import Struct

from maverick.config.programs import find_program, helper_environment, plain_environment
from maverick.exceptions import ToolError
from maverick.tools.coding.protection import FOLDERS, GIT_REDIRECTIONS, GIT_SETTINGS
from maverick.tools.coding.seccomp import no_set_id_filter
from maverick.tools.coding.workspace import Workspace

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = (
    "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "passwd",
)  # fmt: skip
_COMPARE = (
    'run=$1 expected=$2; shift 2; [ $# = 0 ] || [ "$(PATH=/usr/bin:/bin stat -Lc %d:%i -- "$@")" = "$expected" ] || '
    '{ echo "Something that is protected has changed while the command was started. Try again."; exit 126; }; '
    'exec /bin/sh -c "$run"'
)
"""A script for inside: compares the identities of what is mounted with what they were, then runs the command. The PATH
of the command may lead into the workspace, so the comparison has its own."""
_DEEPEST = 3
_MOST_FOLDERS = 1000
_MODULE_PATH = rb"(?m)^\s*path\s*=\s*(.+?)\s*$"
_LARGEST_MODULES_FILE = 1_000_000
_LOCKED = ("--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev")


def sandbox_problem() -> str:
    """Why commands cannot be put into a sandbox here; empty if they can."""
    return _problem(find_program("bwrap"))


@cache
def _problem(program: str | None) -> str:
    if program is None:
        return "bubblewrap (bwrap) is not installed outside the workspace, so a command cannot be put into a sandbox"
    with _filter() as calls:
        if calls is None:
            return "the system calls of this computer's architecture are not known, so a command cannot be put into a sandbox"
        words = [program, *_LOCKED, "--seccomp", str(calls), *_system_folders(), "true"]
        try:
            subprocess.run(  # noqa: S603 - the program that was found, with no input of a user
                words, capture_output=True, timeout=10, check=True, pass_fds=[calls], env=helper_environment()
            )
        except subprocess.CalledProcessError:
            return "this system does not let bubblewrap (bwrap) make a sandbox, so a command would run without one"
        except (OSError, subprocess.SubprocessError):
            return "bubblewrap (bwrap) cannot be run here, so a command cannot be put into a sandbox"
    return ""


def python_folders() -> tuple[Path, ...]:
    """The folders of this Python, which commands in a sandbox may read by default."""
    return Path(sys.prefix), Path(sys.base_prefix)


class BoxedCommand(Struct):
    """A command in its sandbox."""

    argv: list[str]
    """The program to run."""
    files: list[int]
    """Open files it inherits."""
    held_back: list[str] = []
    """Protected files that the command has made, with their new names; known once the command has ended."""


class Sandbox:
    """What a command is wrapped in.

    Args:
        workspace: The folder it may change.
        readable: Folders outside of it that it may read, such as those of compilers; by default, this Python's.
        commits: Whether it may write the repository of the workspace, except for its settings and hooks.
    """

    def __init__(
        self, workspace: Workspace, readable: Sequence[Path] | None = None, *, commits: bool = False
    ) -> None:
        own = python_folders() if readable is None else readable
        self._workspace = workspace
        self._commits = commits
        self._program = find_program("bwrap")
        self._readable = [str(path.resolve()) for path in own]
        self._programs = "".join(f"{path}/bin:" for path in self._readable)

    @contextmanager
    def around(self, command: str) -> Iterator[BoxedCommand]:
        """Prepare a command line for the sandbox within a ``with`` block; protected files it made are renamed at its end.

        An earlier command may have put a link in place of something protected, and bubblewrap would follow it, outside
        of the sandbox. So what is mounted is compared with what we have seen there, before the command runs.
        """
        names = self._workspace.guarded()
        with _placeholders(self._workspace, names), _filter() as calls:
            if self._program is None or calls is None:
                raise ToolError("The sandbox for commands is not available any more. Tell the user.")
            watched = (*names, *GIT_REDIRECTIONS) if self._commits else names
            absent = [name for name in watched if not os.path.lexists(self._workspace.root / name)]
            made = BoxedCommand([self._program, "--seccomp", str(calls), *self._words(command)], [calls])
            try:
                yield made
            finally:
                fresh = set(self._workspace.guarded()).difference(names)
                made.held_back += _held_back(self._workspace, [*absent, *fresh])

    def _words(self, command: str) -> list[str]:
        words = [*_LOCKED, *_system_folders(), "--tmpfs", "/tmp"]  # noqa: S108 - its own, inside
        for path in self._readable:
            words += ["--ro-bind-try", path, path]
        root = str(self._workspace.root)
        words += ["--bind", root, root]
        names, identities = [], []
        for name, option in self._mounts():
            if (identity := self._workspace.identity(name)) is not None:
                words += [option, f"{root}/{name}", f"{root}/{name}"]
                names.append(f"./{name}")
                identities.append(identity)
        words += ["--clearenv"]
        told = plain_environment() | {"HOME": "/tmp", "TMPDIR": "/tmp"}  # noqa: S108 - the same
        told["PATH"] = self._programs + told["PATH"]
        for variable, value in told.items():
            words += ["--setenv", variable, value]
        script = ["/bin/sh", "-c", _COMPARE, "sh", command, "\n".join(identities), *names]
        return [*words, "--chdir", root, "--", *script]

    def _mounts(self) -> list[tuple[str, str]]:
        """What is mounted in the workspace, outer folders first, and how."""
        mounts: dict[str, str] = {}
        for name in (*self._workspace.running, *self._inner_repositories):
            for folder in PurePosixPath(name).parents:
                if folder.name:
                    mounts[str(folder)] = "--bind"
        fixed = (*self._workspace.guarded(), *self._workspace.running)
        mounts |= dict.fromkeys((*fixed, *self._inner_repositories), "--ro-bind")
        if self._commits and all(self._workspace.identity(name) for name in (".git/config", ".git/hooks")):
            mounts |= {".git": "--bind"} | dict.fromkeys((*GIT_SETTINGS, *GIT_REDIRECTIONS), "--ro-bind")
        read_only = {name for name, option in mounts.items() if option == "--ro-bind"}
        return [
            (name, option)
            for name, option in sorted(mounts.items(), key=lambda mount: mount[0].count("/"))
            if read_only.isdisjoint(map(str, PurePosixPath(name).parents))
        ]

    @cached_property
    def _inner_repositories(self) -> tuple[str, ...]:
        """Those that are there before the first command; one that a command makes is not the user's anyway."""
        return _inner_repositories(self._workspace)


_commands: Counter[str] = Counter()
_placed: dict[str, list[str]] = {}
_placing = threading.Lock()


@contextmanager
def _placeholders(workspace: Workspace, names: Sequence[str]) -> Iterator[None]:
    """Create protected folders that do not exist, for as long as any command runs."""
    key = str(workspace.root)
    with _placing:
        _commands[key] += 1
        placed = _placed.setdefault(key, [])
        with suppress(ToolError), workspace.open_folder(()) as root:
            for name in FOLDERS.intersection(names):
                with suppress(OSError):
                    os.mkdir(name, dir_fd=root)
                    placed.append(name)
    try:
        yield
    finally:
        with _placing:
            _commands[key] -= 1
            if not _commands[key]:
                del _commands[key], _placed[key]
                with suppress(ToolError), workspace.open_folder(()) as root:
                    for name in placed:
                        with suppress(OSError):  # another program has put something into it meanwhile
                            os.rmdir(name, dir_fd=root)


def _held_back(workspace: Workspace, names: Sequence[str]) -> list[str]:
    """Rename protected files that a command has made; say what they are called now."""
    renamed: list[str] = []
    with suppress(ToolError), workspace.open_folder(()) as root:
        for name in set(names) - workspace.written:
            other = f"{name}.held-back-{os.urandom(4).hex()}"
            with suppress(OSError):
                os.rename(name, other, src_dir_fd=root, dst_dir_fd=root)
                renamed.append(f"{name} is protected, so it was renamed to {other}")
    return renamed


@contextmanager
def _filter() -> Iterator[int | None]:
    """An open file with the filter of system calls, for one use; ``None`` if its system calls are not known."""
    program = no_set_id_filter()
    if program is None:
        yield None
        return
    reading_end, writing_end = os.pipe()
    try:
        try:
            os.write(writing_end, program)
        finally:
            os.close(writing_end)
        yield reading_end
    finally:
        os.close(reading_end)


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


def _inner_repositories(workspace: Workspace) -> tuple[str, ...]:
    """The ``.git`` of each repository inside the workspace's own, and each submodule that is not checked out.

    The search goes three folders deep and through a thousand folders; submodules are found wherever they are.
    """
    found: dict[str, None] = {}
    waiting: list[tuple[str, ...]] = [()]
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            break
        folder = waiting.pop(0)
        for name in _subfolders(workspace, folder):
            inner = (*folder, name)
            if workspace.identity("/".join((*inner, ".git"))) is not None:
                found["/".join((*inner, ".git"))] = None
            if len(inner) < _DEEPEST:
                waiting.append(inner)
    for path in _submodules(workspace):
        inside = f"{path}/.git"
        found[inside if workspace.identity(inside) is not None else path] = None
    return tuple(found)


def _subfolders(workspace: Workspace, folder: tuple[str, ...]) -> list[str]:
    try:
        with workspace.open_folder(folder) as descriptor, os.scandir(descriptor) as entries:
            return [
                entry.name
                for entry in entries
                if entry.name != ".git" and entry.is_dir(follow_symlinks=False)
            ]
    except (ToolError, OSError):
        return []


def _submodules(workspace: Workspace) -> list[str]:
    try:
        content = workspace.read(".gitmodules", _LARGEST_MODULES_FILE)
    except ToolError:
        return []
    paths = (os.fsdecode(path) for path in re.findall(_MODULE_PATH, content))
    return [path for path in map(workspace.canonical, paths) if path not in (None, ".")]
