"""The messages of an editor, one line each; what is no message is answered with an error, and the next one counts."""

from __future__ import annotations

import asyncio
import json
from typing import Any

_UNREADABLE, _INVALID = -32700, -32600


class EditorMessages:
    """A connection to an editor, as a transport of the protocol's package.

    Args:
        reader: What the editor writes.
        writer: What it reads.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; ``None`` once the editor is gone."""
        while (line := await self._line()) != b"":
            if line is not None and not line.strip():
                continue
            try:
                message = json.loads(line or "")
            except (ValueError, RecursionError):
                await self._refuse(_UNREADABLE, "The message is no JSON, or is too large.")
                continue
            if _is_message(message):
                return dict(message)
            await self._refuse(_INVALID, "Expected a request, a notification or a response of JSON-RPC 2.0.")
        return None

    async def close(self) -> None:
        """Nothing is left to do: each message was handed over when it was sent."""

    async def _line(self) -> bytes | None:
        """The next line; empty at the end, and ``None`` for one that is too long."""
        is_whole = True
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                await self._reader.readexactly(error.consumed)
                is_whole = False
            except asyncio.IncompleteReadError as error:
                return error.partial
            else:
                return line if is_whole else None

    async def _refuse(self, code: int, why: str) -> None:
        await self.send({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}})


def _is_message(message: object) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("id"), str | int | None):
        return False
    if message.get("method") is not None:
        return isinstance(message["method"], str)
    return "result" in message or isinstance(message.get("error"), dict)
