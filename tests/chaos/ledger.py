"""The effect ledger: a file outside the journal with one synced line for each thing that really happened."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec
from msgspec import Struct


class Deed(Struct, frozen=True):
    """Something that happened in the world."""

    kind: str
    """``effect`` (a tool changed something), ``look`` (a pure tool ran), ``model`` (the model was asked), ``failure``
    (it failed on purpose) or ``invalid`` (it was sent a conversation no provider would take)."""
    what: str
    """The tool, or the agent."""
    item: str
    key: str = ""


class Ledger:
    """Deeds in the order they were done, by any number of processes.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, deed: Deed, *, once: bool = False) -> None:
        """Write a deed down; no kill can take it back once this returns, and an effect outlives the machine too.

        Args:
            deed: What was done.
            once: Whether it is not done again if it was done under its key, as a service that knows keys has it.
        """
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if once:
                fcntl.flock(file, fcntl.LOCK_EX)
                if self.has(deed.kind, deed.key):
                    return
            os.write(file, msgspec.json.encode(deed) + b"\n")
            if deed.kind == "effect":
                os.fsync(file)
        finally:
            os.close(file)

    def deeds(self) -> list[Deed]:
        """Everything that was done."""
        if not self._path.exists():
            return []
        return [msgspec.json.decode(line, type=Deed) for line in self._path.read_bytes().splitlines()]

    def has(self, kind: str, key: str) -> bool:
        """Whether something of this kind was done under this key."""
        return any(deed.kind == kind and deed.key == key for deed in self.deeds())
