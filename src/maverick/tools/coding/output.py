"""What a program says, kept in bounds: its beginning and its end for the model, all of it in a file."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import BinaryIO

from maverick.exceptions import ToolError
from maverick.tools.coding.files import LARGEST_FILE
from maverick.tools.coding.workspace import Workspace

_SHOWN = 14_000
"""Bytes of the beginning, and of the end, that the model is shown."""
_MOST = 100_000_000
"""Bytes after which a program has said more than anybody wants to know."""
FOLDER = (".maverick", "output")
"""Where long outputs are kept, in the workspace."""


class Output:
    """Collects the output of one program.

    Args:
        workspace: Where a long output is kept.
        name: What its file is called.
    """

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace = workspace
        self._name = f"{''.join(c if c.isalnum() else '-' for c in name)[-80:]}-{os.urandom(4).hex()}.txt"
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._kept = 0
        self.length = 0
        """Bytes so far."""

    def take(self, chunk: bytes) -> bool:
        """Take in a piece, and say whether more is wanted."""
        self.length += len(chunk)
        room = _SHOWN - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(room, 0) :]
        if len(self._tail) > _SHOWN and self._file is None and not self._kept:
            self._spill(bytes(self._head + self._tail))
        elif self._file is not None:
            self._keep(chunk)
        del self._tail[:-_SHOWN]
        return self.length <= _MOST

    def close(self) -> None:
        """Close the file of a long output."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def text(self) -> str:
        """What the model is shown."""
        left_out = self.length - len(self._head) - len(self._tail)
        head, tail = self._head.decode("utf-8", "replace"), self._tail.decode("utf-8", "replace")
        if not left_out:
            return head + tail
        kept = f"; the first {self._kept} are in {'/'.join(FOLDER)}/{self._name}" if self._kept else ""
        return f"{head}\n[… {left_out} bytes are left out here{kept}]\n{tail}"

    @property
    def is_too_long(self) -> bool:
        """Whether no more was wanted."""
        return self.length > _MOST

    def _spill(self, so_far: bytes) -> None:
        with suppress(ToolError, OSError):  # a full disk takes away the copy, not the output
            self._file = self._workspace.make_file((*FOLDER, self._name))
            self._keep(so_far)

    def _keep(self, chunk: bytes) -> None:
        assert self._file is not None  # noqa: S101 - asked only when there is one
        wanted = chunk[: LARGEST_FILE - self._kept]
        with suppress(OSError):
            self._file.write(wanted)
            self._kept += len(wanted)
