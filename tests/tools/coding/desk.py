"""A workspace to test tools in, with a secret beside it that no tool may ever show or change."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import Any, cast

from maverick.exceptions import ToolError
from maverick.model import ToolContext
from maverick.tools import Workspace, coding_tools
from maverick.tools.coding.toolbox import CodingTool

SECRET = "CANARY-7d1f"

CONTEXT = ToolContext(
    run_id="run",
    trace_id="trace",
    agent=("worker",),
    turn=1,
    call_id="call",
    idempotency_key="run/1/0",
    deadline=0.0,
)


class Desk:
    """A folder with a workspace in it.

    Args:
        base: The folder; what is in it outside of the workspace is out of bounds.
        folders: Folders that are in the workspace before it is opened.
        options: Options of the coding tools.
    """

    def __init__(self, base: Path, *folders: str, **options: Any) -> None:
        self.base = base
        self.root = base / "work"
        self.root.mkdir()
        for folder in folders:
            (self.root / folder).mkdir(parents=True)
        outside = base / "outside"
        outside.mkdir()
        (outside / "secret.txt").write_text(SECRET, encoding="utf-8")
        self.workspace = Workspace(self.root)
        self.tools = {tool.name: cast("CodingTool", tool) for tool in coding_tools(self.workspace, **options)}

    def fill(self) -> None:
        """Put a bit of everything into the workspace, and every way out of it that a file system has."""
        (self.root / "a" / "b").mkdir(parents=True)
        (self.root / "a" / "note.txt").write_text("a note\n", encoding="utf-8")
        (self.root / "a" / "b" / "deep.txt").write_text("deep\n", encoding="utf-8")
        (self.root / "top.txt").write_text("top\n", encoding="utf-8")
        (self.root / "link").symlink_to(self.base / "outside" / "secret.txt")
        (self.root / "relative").symlink_to("../outside/secret.txt")
        (self.root / "door").symlink_to(self.base / "outside")
        (self.root / "a" / "up").symlink_to("../..")
        (self.root / "loop").symlink_to("loop")
        (self.root / "inner").symlink_to("a/note.txt")
        (self.root / "dangling").symlink_to(self.base / "outside" / "new.txt")
        os.mkfifo(self.root / "pipe")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.root / "socket"))

    async def use(self, tool: str, **arguments: Any) -> str:
        """What a tool returns, or the words of the error it raises."""
        try:
            return str(await self.tools[tool].execute(arguments, CONTEXT))
        except ToolError as error:
            return f"refused: {error}"

    def outside(self) -> dict[str, object]:
        """Everything outside of the workspace: what it is, and what it holds."""
        found: dict[str, object] = {}
        for folder, folders, files in os.walk(self.base):
            if Path(folder) == self.base:
                folders.remove("work")
            for name in (*folders, *files):
                path = Path(folder, name)
                mode = path.lstat().st_mode
                found[str(path)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else None)
        return found
