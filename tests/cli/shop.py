"""MCP servers for a folder: what they are, what has become of them, and what is left of their processes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

# Loaded before a folder makes its own list of modules: the library finds its own parts in the real one only.
import anyio._backends._asyncio  # noqa: F401
import mcp  # noqa: F401

from cli.folder import Folder

PROGRAM = str(Path(__file__).parent.parent / "tools" / "mcp" / "shop_server.py")


class Shop:
    """A server in a folder, as a program.

    Args:
        folder: The folder.
        name: What the server is called.
        behaviour: How it behaves, as ``shop_server.py`` has it.
    """

    def __init__(self, folder: Folder, name: str = "shop", **behaviour: Any) -> None:
        self.name = name
        self._folder = folder
        self._log = folder.path / f"{name}.log"
        self._spec = folder.path / f"{name}.json"
        self.becomes(**{"tools": {"sell": "Sells it.", "owner": "Says whose it is."}, **behaviour})

    def becomes(self, **behaviour: Any) -> None:
        """Let it be another from its next start on."""
        self._spec.write_text(json.dumps({"log": str(self._log), **behaviour}), encoding="utf-8")

    def settings(self, **more: Any) -> dict[str, Any]:
        """What a file says about it."""
        return {"command": sys.executable, "args": [PROGRAM, str(self._spec)], **more}

    def done(self) -> list[str]:
        """What it has done so far."""
        return self._log.read_text(encoding="utf-8").splitlines() if self._log.exists() else []

    def processes(self) -> list[int]:
        """What runs of it: every process with its file among the arguments."""
        found = []
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    words = (process / "cmdline").read_bytes()
                except OSError:
                    continue  # it has ended meanwhile
                if str(self._spec).encode() in words:
                    found.append(int(process.name))
        return found

    def is_gone(self) -> bool:
        """Whether nothing of it is left, after a while."""
        deadline = time.monotonic() + 20
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self.processes()


def own_servers(folder: Folder, **servers: Any) -> None:
    """Name servers in the person's own settings."""
    folder.write(".maverick/config.yaml", json.dumps({"mcp": servers}))


def project_servers(folder: Folder, **servers: Any) -> None:
    """Name servers in the project's file that other programs read too."""
    folder.write(".mcp.json", json.dumps({"mcpServers": servers}))
