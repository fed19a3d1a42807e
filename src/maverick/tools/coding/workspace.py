"""A folder that tools work in and cannot leave.

No path is ever handed to the system whole. A file is opened by walking to it from the workspace's root, one name at a
time, each relative to the folder that is already open, and no symbolic link is followed on the way. So there is no
moment between a check and a use in which a link could take the place of a folder, and a path means one thing:
what the permissions were asked about is what is opened.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from maverick.config.programs import note_workspace
from maverick.exceptions import ConfigError, ToolError
from maverick.tools.coding.protection import ASKED, PROTECTED, what_runs_us

_CONFINES = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd
"""Whether this system opens files relative to folders; Windows does not, and has no flags for it."""
if _CONFINES:
    _FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    _LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    _MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Workspace:
    """A folder that tools may work in.

    Args:
        root: The folder.
        protected: Names of files and folders that may be read but not changed, in whatever folder they are. Commands in
            a sandbox are only kept from those right below the root.
        asked: Names of files and folders, or patterns such as ``*.code-workspace``, that a person is asked about before they are changed. Commands in a sandbox
            cannot change those right below the root.

    Raises:
        ConfigError: The folder does not exist, or this system cannot confine anything to it.
    """

    def __init__(
        self, root: Path | str = ".", *, protected: Iterable[str] = PROTECTED, asked: Iterable[str] = ASKED
    ) -> None:
        if not _CONFINES:
            raise ConfigError(
                "Coding tools need Linux or macOS: this system cannot open files relative to folders. "
                "Run the agent there, or without these tools."
            )
        try:
            self.root = Path(root).resolve(strict=True)
            os.close(os.open(self.root, _FOLDER))
        except OSError as error:
            raise ConfigError(f"The workspace {str(root)!r} is not a folder, or cannot be opened.") from error
        note_workspace(self.root)
        self.protected = _names("protected", protected)
        self.asked = _names("asked", asked)
        self.changing = threading.Lock()
        """Held while a file is read in order to be written."""
        self.written: set[str] = set()
        """What is right below the root and was written by a file tool, or has something below it that was."""

    @cached_property
    def running(self) -> tuple[str, ...]:
        """What this process runs from, relative to the root: never changed by a command in a sandbox, and asked about."""
        # Looked up before anything is changed, and not before that: most runs change nothing.
        return what_runs_us(self.root)

    def locate(self, path: str) -> tuple[str, ...]:
        """The names that lead from the root to a path, without ``.`` and ``..``.

        Raises:
            ToolError: The path leads out of the workspace, or is invalid.
        """
        try:
            os.fsencode(path)
        except UnicodeEncodeError as error:
            raise ToolError(f"{path!r} is not a valid path.") from error
        if "\0" in path:
            raise ToolError(f"{path!r} is not a valid path: it has a NUL character.")
        names = _tidy(path.split("/"))
        above = self.root.parts[1:] if path.startswith("/") else ()
        if names is None or names[: len(above)] != above:
            raise ToolError(f"{path} is outside the workspace. Use a path relative to it.")
        return names[len(above) :]

    def canonical(self, path: str) -> str | None:
        """The canonical path, relative to the root; ``None`` if it leads out of the workspace."""
        try:
            return "/".join(self.locate(path)) or "."
        except ToolError:
            return None

    def question(self, path: str) -> str:
        """Why a person has to be asked before a path is changed; empty if there is no reason."""
        canonical = self.canonical(path)
        if canonical is None:
            return ""
        names = canonical.casefold().split("/")
        for entry in self.asked:
            if any(fnmatchcase(name, entry.casefold()) for name in names):
                return f"other programs run or obey what is in {entry} automatically."
        for place in self.running:
            inner = place.casefold().split("/")
            if names[: len(inner)] == inner:
                return f"{place} is part of what runs this agent, outside any sandbox."
        return ""

    def guarded(self) -> list[str]:
        """What right below the root is protected or asked about, whether or not it exists; of a pattern, what exists."""
        patterns = [entry.casefold() for entry in self.asked if "*" in entry]
        names = dict.fromkeys(name for name in (*self.protected, *self.asked) if "*" not in name)
        with suppress(OSError):
            for name in os.listdir(self.root):  # noqa: PTH208 - names are all that is needed
                if any(fnmatchcase(name.casefold(), pattern) for pattern in patterns):
                    names[name] = None
        return list(names)

    def is_protected(self, path: str) -> bool:
        """Whether a path of the workspace may be read but not changed."""
        return self._protecting(self.locate(path)) is not None

    @contextmanager
    def open_folder(self, names: Sequence[str], *, create: bool = False) -> Iterator[int]:
        """The descriptor of a folder, open for as long as the block lasts.

        Raises:
            ToolError: It does not exist, or something on the way is not a folder.
        """
        with _explained("The workspace"):
            folder = os.open(self.root, _FOLDER)
        try:
            for index, name in enumerate(names):
                with _explained("/".join(names[: index + 1])):
                    if create:
                        with suppress(FileExistsError):
                            os.mkdir(name, dir_fd=folder)
                    inner = os.open(name, _FOLDER, dir_fd=folder)
                folder, outer = inner, folder
                os.close(outer)
            yield folder
        finally:
            os.close(folder)

    def open_file(self, path: str) -> BinaryIO:
        """A regular file of the workspace, open for reading.

        Raises:
            ToolError: It does not exist, or is a link, a device, a pipe or a folder.
        """
        *folders, name = self._file_names(path)
        with self.open_folder(folders) as folder, _explained(path):
            _check_regular(os.stat(name, dir_fd=folder, follow_symlinks=False), path)
            descriptor = os.open(name, _LOOK, dir_fd=folder)
        try:
            _check_regular(os.fstat(descriptor), path)
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise

    def read(self, path: str, largest: int) -> bytes:
        """The content of a file.

        Raises:
            ToolError: It cannot be read, or is larger than ``largest`` bytes.
        """
        with self.open_file(path) as file, _explained(path):
            content = file.read(largest + 1)
        if len(content) > largest:
            raise ToolError(
                f"{path} is larger than {largest // 1_000_000} MB. Search it with grep, or read part of it with a command."
            )
        return content

    def replace(self, path: str, content: bytes) -> None:
        """Replace the content of a file atomically; missing folders are created.

        Raises:
            ToolError: It may not be changed, or cannot be.
        """
        *folders, name = names = self._changeable(path)
        with self.open_folder(folders, create=True) as folder, _explained(path):
            mode = _mode_of(name, folder, path)
            self.written.add(names[0])
            self._put(folder, name, content, mode)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it.

        Raises:
            ToolError: It may not be changed, or cannot be.
        """
        *folders, name = self._changeable(path)
        with self.open_folder(folders) as folder, _explained(path):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)

    def move(self, path: str, to: str) -> None:
        """Rename a file or folder; missing folders are created.

        Raises:
            ToolError: One of the two may not be changed, or the new path is taken.
        """
        *folders, name = self._changeable(path)
        *new_folders, new_name = self._changeable(to)
        if self.identity(path) is None:
            raise ToolError(f"{path} does not exist.")
        with self.open_folder(folders) as source, self.open_folder(new_folders, create=True) as target:
            with suppress(FileNotFoundError):
                os.stat(new_name, dir_fd=target, follow_symlinks=False)
                raise ToolError(f"{to} exists. Choose another path, or remove it first.")
            with _explained(to):
                os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)

    def identity(self, path: str) -> str | None:
        """What identifies a file or folder; ``None`` if it does not exist or is a link."""
        try:
            *folders, name = self._file_names(path)
            with self.open_folder(folders) as folder, _explained(path):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except ToolError:
            return None
        return None if stat.S_ISLNK(found.st_mode) else f"{found.st_dev}:{found.st_ino}"

    def make_file(self, names: Sequence[str]) -> BinaryIO:
        """A new file for our own use, open for writing; git is told to ignore its folder.

        Raises:
            ToolError: It cannot be made.
        """
        with self.open_folder(names[:-1], create=True) as folder, _explained("/".join(names)):
            with suppress(FileExistsError), _made(".gitignore", folder) as ignore:
                ignore.write(b"*\n")
            return _made(names[-1], folder)

    @staticmethod
    def _put(folder: int, name: str, content: bytes, mode: int | None) -> None:
        temporary = f".{os.urandom(8).hex()}.tmp"
        try:
            with _made(temporary, folder) as file:
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                file.write(content)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise

    def _file_names(self, path: str) -> tuple[str, ...]:
        names = self.locate(path)
        if not names:
            raise ToolError(f"{path!r} is the workspace itself, not a file in it.")
        return names

    def _protecting(self, names: Iterable[str]) -> str | None:
        """The first name on the way to a file that keeps it from being changed."""
        lowered = {name.casefold() for name in names}
        return next((entry for entry in self.protected if entry.casefold() in lowered), None)

    def _changeable(self, path: str) -> tuple[str, ...]:
        """The names that lead to a file that may be changed."""
        names = self._file_names(path)
        if (entry := self._protecting(names)) is not None:
            raise ToolError(f"{path} may be read but not changed: {entry} is protected. Tell the user.")
        return names


def _names(field: str, names: Iterable[str]) -> tuple[str, ...]:
    given = tuple(names)
    if any("/" in name or name in ("", ".", "..") for name in given):
        raise ConfigError(f"{field}: expected names without a slash, got {given!r}.")
    return given


def _made(name: str, folder: int) -> BinaryIO:
    """A new file, open for writing."""
    return os.fdopen(os.open(name, _MAKE, 0o666, dir_fd=folder), "wb")


def _tidy(parts: Iterable[str]) -> tuple[str, ...] | None:
    """The parts of a path without ``.`` and ``..``; ``None`` if they lead above where they begin."""
    names: list[str] = []
    for part in parts:
        if part == "..":
            if not names:
                return None
            names.pop()
        elif part not in ("", "."):
            names.append(part)
    return tuple(names)


def _mode_of(name: str, folder: int, path: str) -> int | None:
    """The permissions of an existing file, without the set-ID bits."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check_regular(found, path)
    return stat.S_IMODE(found.st_mode) & 0o777


def _check_regular(found: os.stat_result, path: str) -> None:
    mode = found.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISLNK(mode):
        raise ToolError(
            f"{path} is a symbolic link. Name the file it points to, if that is in the workspace."
        )
    if stat.S_ISDIR(mode):
        raise ToolError(f"{path} is a folder. list_files shows what is in it.")
    raise ToolError(f"{path} is a device, a pipe or a socket, not a file.")


_WORDS = {
    errno.ENOENT: "{path} does not exist. list_files shows what does.",
    errno.ELOOP: "{path} is, or leads through, a symbolic link. Name the place it points to, if that is inside.",
    errno.ENOTDIR: "{path} leads through something that is not a folder, such as a file or a symbolic link.",
    errno.EACCES: "{path} cannot be opened: permission denied.",
    errno.EPERM: "{path} cannot be opened: permission denied.",
    errno.ENAMETOOLONG: "{path} has a name that is too long.",
    errno.EISDIR: "{path} is a folder.",
    errno.ENOSPC: "{path} could not be written: the disk is full.",
    errno.EROFS: "{path} could not be written: the disk is read-only.",
}


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn an error of the system into one that the model understands."""
    try:
        yield
    except OSError as error:
        words = _WORDS.get(error.errno or 0, "{path} could not be used: {reason}.")
        shown = path if len(path) <= 200 else f"{path[:200]}…"
        raise ToolError(words.format(path=shown, reason=error.strerror or type(error).__name__)) from error
