"""JSON that is made once and used many times."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.model import Tool
from maverick.providers.wire_json import encode


class JsonMemory:
    """The JSON made for objects, by their identity; the oldest is forgotten when there are too many."""

    CAPACITY = 256

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[bytes, object]] = {}

    def __len__(self) -> int:
        return len(self._made)

    def get(self, key: Hashable) -> bytes | None:
        """What was kept under the key, if it still is."""
        entry = self._made.get(key)
        return None if entry is None else entry[0]

    def keep(self, key: Hashable, made: bytes, sources: object) -> None:
        """Remember what was made. The sources are kept alive, so that no other object gets an id in the key."""
        if len(self._made) >= self.CAPACITY:
            del self._made[next(iter(self._made))]
        self._made[key] = (made, sources)


class ToolMemory:
    """The JSON of tools: made once for a tuple, which many requests may share, and anew for a list, which can change.

    Args:
        form: A tool in the words of the API, given the tool and the JSON Schema of its parameters.
    """

    __slots__ = ("_form", "_memory")

    def __init__(self, form: Callable[[Tool, dict[str, Any]], dict[str, Any]]) -> None:
        self._form = form
        self._memory = JsonMemory()

    def encode(self, tools: Sequence[Tool]) -> bytes:
        """The tools as a JSON array.

        Raises:
            InvalidToolError: The parameters of one are not a JSON Schema.
        """
        made = self._memory.get(id(tools))
        if made is None:
            made = b"[" + b",".join(map(self._encode, tools)) + b"]"
            if isinstance(tools, tuple):
                self._memory.keep(id(tools), made, tools)
        return made

    def _encode(self, tool: Tool) -> bytes:
        try:
            return encode(self._form(tool, {"type": "object", **tool.parameters}))
        except (InvalidInputError, TypeError) as error:
            raise InvalidToolError(
                f"The parameters of the tool {tool.name!r} are not a JSON Schema: {error}",
                tool_name=tool.name,
            ) from error
