"""Hashes of what a person has accepted, kept in a file of theirs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from maverick.exceptions import ConfigError


class AcceptedHashes:
    """Hashes by owner and name.

    Args:
        file: Where they are kept; without one, as long as this object lives.

    Raises:
        ConfigError: The file does not hold hashes.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._hashes: dict[str, dict[str, str]] = {} if file is None else _read(file)

    def of(self, owner: str) -> Mapping[str, str] | None:
        """The hashes of an owner, if there ever were any."""
        return self._hashes.get(owner)

    def owners(self) -> list[str]:
        """Those of whom something was accepted."""
        return list(self._hashes)

    def remove(self, owner: str) -> bool:
        """Forget all that was accepted of an owner; returns whether there was anything."""
        if self._file is not None:
            self._hashes = _read(self._file)
        found = self._hashes.pop(owner, None) is not None
        if found and self._file is not None:
            _write(self._file, self._hashes)
        return found

    def add(self, owner: str, hashes: Mapping[str, str]) -> None:
        """Accept something of an owner's, in place of what had the same names."""
        if self._file is not None:
            self._hashes = _read(self._file)  # another process may have added to it
        self._hashes[owner] = {**self._hashes.get(owner, {}), **hashes}
        if self._file is not None:
            _write(self._file, self._hashes)


def _read(file: Path) -> dict[str, dict[str, str]]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, str]])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"{file} does not hold what was accepted. Remove it to be asked again.", source=str(file)
        ) from error


def _write(file: Path, hashes: dict[str, dict[str, str]]) -> None:
    import tempfile  # here, since it is slow to load, and seldom is anything accepted

    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as written:
        written.write(msgspec.json.format(msgspec.json.encode(hashes, order="sorted")))
    os.replace(written.name, file)  # noqa: PTH105 - the temporary file's name is a str
