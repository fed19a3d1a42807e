"""What the tools of MCP servers said they are when they were first accepted.

A server can change what its tools say after a person has looked at them, and a model believes what it reads. So a
tool whose description or schema is not what was accepted is kept from agents until somebody accepts it again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import mcp_types as types
import msgspec

from maverick.exceptions import ConfigError


class ToolPins:
    """Hashes of the tools that were accepted, by server and tool.

    Args:
        file: Where they are kept; without one, as long as this object lives.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._pins: dict[str, dict[str, str]] = {} if file is None else _read(file)

    def check(self, server: str, tools: Iterable[types.Tool]) -> list[str]:
        """The names of tools that are not what was accepted; tools of a server nobody has seen before are accepted."""
        tools = list(tools)
        if server not in self._pins:
            self.accept(server, tools)
            return []
        known = self._pins[server]
        return [tool.name for tool in tools if known.get(tool.name) != _digest(tool)]

    def accept(self, server: str, tools: Iterable[types.Tool]) -> None:
        """Accept tools as they are now."""
        self._pins[server] = {**self._pins.get(server, {}), **{tool.name: _digest(tool) for tool in tools}}
        if self._file is not None:
            _write(self._file, self._pins)


def _digest(tool: types.Tool) -> str:
    said = [tool.name, tool.title, tool.description, tool.input_schema]
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()


def _read(file: Path) -> dict[str, dict[str, str]]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, str]])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"{file} does not hold accepted tools. Remove it to accept all tools as they are now.",
            source=str(file),
        ) from error


def _write(file: Path, pins: dict[str, dict[str, str]]) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as written:
        written.write(msgspec.json.format(msgspec.json.encode(pins, order="sorted")))
    os.replace(written.name, file)  # noqa: PTH105 - the temporary file's name is a str
