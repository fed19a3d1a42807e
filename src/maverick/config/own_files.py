"""The person's own files: where they are kept, and how small files are read and replaced."""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path

from maverick.exceptions import ConfigError

_LARGEST_FILE = 64 * 1024  # bytes; PyYAML is slow, and no settings are this long


def persons_home() -> Path | None:
    """The person's home, if they have one."""
    try:
        return Path.home()
    except RuntimeError:  # the user of a container may have none
        return None


def own_folder() -> Path:
    """Where the person's own files are kept: ``.maverick`` in their home; a ``ConfigError`` if they have none."""
    home = persons_home()
    if home is None:
        raise ConfigError(
            "You have no home folder to keep this in. Set the variable HOME to a folder of yours."
        )
    return home / ".maverick"


def read_small_file(path: Path) -> bytes:
    """The content of a file, empty if the file does not exist; a ``ConfigError`` if it cannot be read, or is too large."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
            raise ConfigError(f"{path} is not a file. Move it away, or make it one.", source=str(path))
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        problem = f"{path} could not be read: {error.strerror}. Check its permissions."
        raise ConfigError(problem, source=str(path)) from error
    if len(content) > _LARGEST_FILE:
        problem = f"{path} is larger than {_LARGEST_FILE // 1024} KiB. Keep only settings in it."
        raise ConfigError(problem, source=str(path))
    return content


def replace_file(path: Path, content: bytes) -> None:
    """Put a file that only its owner can read in place of another, at once; its folder is made if it is missing."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = path.with_name(f"tmp{os.urandom(8).hex()}")
    with open(written, "xb", opener=partial(os.open, mode=0o600)) as file:
        file.write(content)
    written.replace(path)
