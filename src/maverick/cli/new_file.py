"""Writes a file for the user to edit, without overwriting one."""

from __future__ import annotations

import os
from pathlib import Path

from maverick.exceptions import InvalidInputError


def write_new_file(path: Path, text: str, *, force: bool, private: bool = False) -> None:
    """Write a file, and create its folder if needed; a private one may only be read by its owner."""
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(mode=0o700 if private else 0o777, parents=True)
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if force else os.O_EXCL)
        with os.fdopen(os.open(path, flags, 0o600 if private else 0o666), "w", encoding="utf-8") as file:
            if private:  # also if it existed, and others could read it
                path.chmod(0o600)
            file.write(text)
    except OSError as error:
        if isinstance(error, FileExistsError) and path.is_file():
            problem = f"{path} already exists. Edit it, choose another, or overwrite it with --force."
        else:
            problem = f"{path} could not be written: {error.strerror}. Check the folder and its permissions."
        raise InvalidInputError(problem, field="path") from error
