"""The content blocks of the Claude Messages API as parts of a message, whole or as they arrive. No I/O here.

Text, thoughts and tool calls are read. Any other block, of a server tool or of a type that is new, is an
:class:`~maverick.model.Opaque`, and so is the API's own form of a block that says more than our part does: it goes back as
it came. ``ValueError`` is raised for a block that is not valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from maverick.model import Opaque, Part, Text, TextDelta, ThinkingDelta, Thought, ToolCall
from maverick.providers.http.exchange import Deltas
from maverick.providers.http.wire_json import decode_object, encode

PROVIDER = "claude"
"""Whose blocks these are, in an ``Opaque``."""

CONTAINER = "container"
"""The type of the ``Opaque`` that names the container of an answer, which later requests have to name, too."""

_FIELDS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
}
"""The types of blocks that are read, and what of each our own parts say."""

_UNREMARKABLE: tuple[object, ...] = (None, [], {"type": "direct"})
"""Values of further fields that say nothing: there are no citations, or the model itself calls the tool."""


class Delta(Struct, frozen=True, gc=False):
    """A delta of any type; each type uses some of the fields."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    signature: str = ""
    stop_reason: str | None = None


def part_of(data: dict[str, Any]) -> Part | None:
    """The part that a block makes; ``None`` for an empty text."""
    kind = _text(data, "type")
    if kind not in _FIELDS:
        return Opaque(PROVIDER, data)
    own_form = _own_form(data) if len(data) > len(_FIELDS[kind]) else None
    if kind == "text":
        text = _text(data, "text")
        return Text(text, own_form) if text else None
    if kind == "tool_use":
        call_id, name, arguments = _text(data, "id"), _text(data, "name"), data.get("input")
        if type(arguments) is dict:
            return ToolCall(call_id, name, arguments, block=own_form)
        return ToolCall(call_id, name, malformed=encode(arguments).decode())
    if kind == "thinking":
        return Thought(_text(data, "thinking"), _text(data, "signature"), block=own_form)
    return Thought("", redacted=_text(data, "data"), block=own_form)


def open_block(data: dict[str, Any]) -> OpenBlock:
    """The block that begins like this."""
    return OpenBlock(data) if _text(data, "type") in _FIELDS else _OpaqueBlock(data)


class OpenBlock:
    """A content block that is still arriving."""

    __slots__ = ("_begun", "_kind", "_pieces", "_signature")

    def __init__(self, begun: dict[str, Any]) -> None:
        part_of(begun)  # which checks it
        self._begun = begun
        self._kind = begun["type"]
        self._pieces: list[str] = []
        self._signature = ""

    def begin(self) -> Deltas:
        """What the block already had when it began."""
        if self._kind not in {"text", "thinking"}:
            return ()
        return self.add(
            Delta(**{name: text for name, text in self._begun.items() if name in _FIELDS[self._kind]})
        )

    def add(self, delta: Delta) -> Deltas:
        """Add a piece of a text, and return it if it is the answer's text or a thought."""
        if self._kind == "text" and delta.text:
            self._pieces.append(delta.text)
            return (TextDelta(delta.text),)
        if self._kind == "tool_use":
            self._pieces.append(delta.partial_json)
        elif self._kind == "thinking":
            self._signature += delta.signature
            self._pieces.append(delta.thinking)
            return (ThinkingDelta(delta.thinking),) if delta.thinking else ()
        return ()

    def add_citation(self, citation: object) -> None:
        """Add a source of the text."""
        citations = self._begun.get("citations")
        if type(citations) is not list:
            citations = self._begun["citations"] = []
        citations.append(citation)

    def update(self, fields: dict[str, Any]) -> None:
        """Set fields of the block; one that is read has none that come like this."""

    def close(self) -> Opaque | None:
        """The block is complete; return it if it is not interpreted, and was not returned before."""
        return None

    def part(self) -> Part | None:
        """The part that the block makes, as far as it has arrived; one that is not interpreted only when complete."""
        begun, added = self._begun, "".join(self._pieces)
        if self._kind == "text":
            return Text(added, _own_form(begun, text=added)) if added else None
        if self._kind == "thinking":
            own_form = _own_form(begun, thinking=added, signature=self._signature)
            return Thought(added, self._signature, block=own_form)
        if not added:  # a tool without arguments streams none, and they may come with the start of the block
            return part_of(begun)
        call_id, name, arguments = _text(begun, "id"), _text(begun, "name"), decode_object(added.encode())
        if arguments is None:
            return ToolCall(call_id, name, malformed=added)
        return ToolCall(call_id, name, arguments, block=_own_form(begun, input=arguments))


class _OpaqueBlock(OpenBlock):
    """A content block that is not interpreted, and still arriving."""

    __slots__ = ("_added", "_whole")

    def __init__(self, begun: dict[str, Any]) -> None:
        self._begun = begun
        self._added: dict[str, list[str]] = {}
        self._whole: Opaque | None = None

    def begin(self) -> Deltas:
        return ()

    def add(self, delta: Delta) -> Deltas:
        for name in ("text", "thinking", "signature", "partial_json"):
            if piece := getattr(delta, name):
                self._added.setdefault(name, []).append(piece)
        return ()

    def update(self, fields: dict[str, Any]) -> None:
        self._begun.update((name, value) for name, value in fields.items() if name != "type")

    def close(self) -> Opaque | None:
        if self._whole is not None:
            return None
        if arguments := "".join(self._added.pop("partial_json", ())):
            self._begun["input"] = decode_object(arguments.encode()) or {}
        for name, pieces in self._added.items():
            self._begun[name] = f"{self._begun.get(name) or ''}{''.join(pieces)}"
        self._whole = Opaque(PROVIDER, self._begun)
        return self._whole

    def part(self) -> Part | None:
        return self._whole


def _text(data: dict[str, Any], name: str) -> str:
    text = data.get(name, "")
    if type(text) is not str or (name == "type" and not text):
        raise ValueError(f"{name} is no text")
    return text


def _own_form(data: dict[str, Any], **fields: object) -> Opaque | None:
    """The block as the API sent it, if it says more than our part does."""
    known = _FIELDS[data["type"]]
    for name, value in data.items():
        if name not in known and value not in _UNREMARKABLE:
            return Opaque(PROVIDER, {**data, **fields})
    return None
