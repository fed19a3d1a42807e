"""The messages of a conversation as the Claude Messages API takes them, each encoded once. No I/O here.

What the API requires, and this module ensures:

* Roles alternate, so adjacent messages of one role become one, and tool results count as the user's.
* Tool results come before anything else the user says.
* No block and no message is empty, and thoughts are sent back only with the signature they came with.
* The API's own blocks go back as they came, and those of another provider are left out.
* A cache marker says "remember everything up to here". Markers are at the end of the instructions, on the newest
  message and on the one that was newest a turn ago: the API finds an earlier entry only within twenty blocks of a
  marker, and a turn with many parallel tools is longer than that. A block of the API's own is never marked.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from maverick.model import Document, Image, Message, Opaque, Part, Role, Text, Thought, ToolCall
from maverick.model.message import describe_part
from maverick.providers.claude.blocks import CONTAINER, PROVIDER
from maverick.providers.http.wire_json import EncodedConversation, encode, nothing_to_send, result_content
from maverick.providers.media_limits import CLAUDE, MediaTally

_USER = b'{"role":"user","content":['
_ASSISTANT = b'{"role":"assistant","content":['
_END = b"}]}"


class _TextBlock(Struct, tag_field="type", tag="text"):
    text: str


class _ThinkingBlock(Struct, tag_field="type", tag="thinking"):
    thinking: str
    signature: str


class _RedactedBlock(Struct, tag_field="type", tag="redacted_thinking"):
    data: str


class _ToolUseBlock(Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any]


class _ToolResultBlock(Struct, tag_field="type", tag="tool_result", omit_defaults=True):
    tool_use_id: str
    content: str | list[Any] = ""
    is_error: bool = False


class Conversation(EncodedConversation):
    """The messages so far.

    All wire messages but the last are closed: nothing can be added to them, so they are kept as finished JSON, and
    old ones are joined so that there are never many pieces. The last one stays open, because the next message may
    belong to it.
    """

    __slots__ = ("_blocks", "_closed", "_joined", "_opening", "_results", "_tally", "container")

    _MOST_CLOSED = 64

    def __init__(self) -> None:
        super().__init__()
        self._joined: list[bytes] = []
        self._closed: list[bytes] = []
        self._opening = b""
        """How the open message begins; it continues with its tool results and its other blocks, a comma before each."""
        self._results = b""
        self._blocks = b""
        self._tally = MediaTally(CLAUDE)
        self.container = ""
        """The id of the container that server tools of the conversation use, if they use one."""

    def _add(self, message: Message) -> None:
        if message.role is Role.TOOL_RESULT:
            result = self._encode_result(message)
            self._open(_USER)
            self._results += result
        elif blocks := b"".join([self._encode_part(part, message.role) for part in message.parts]):
            self._open(_ASSISTANT if message.role is Role.ASSISTANT else _USER)
            self._blocks += blocks

    def pieces(self, marker: bytes) -> list[bytes]:
        """The messages as JSON, in pieces to be joined; with the marker where the cache is to remember, if there is one."""
        if not self._opening:
            raise nothing_to_send()
        pieces = [*self._closed, self._open_message()]
        if marker:
            # The sides alternate, so the user's messages are every other one, from the end.
            newest = len(pieces) - (1 if self._opening is _USER else 2)
            for index in range(newest, max(newest - 3, -1), -2):
                pieces[index] = _marked(pieces[index], marker)
        return self._filled(self._joined + pieces)

    def _open(self, opening: bytes) -> None:
        """Make sure that the open message begins like this; if it does not, close it and open one that does."""
        if opening is self._opening:
            return
        if self._opening:
            self._closed.append(self._open_message() + b",")
            if len(self._closed) > self._MOST_CLOSED:
                self._joined.append(b"".join(self._closed[:-4]))
                del self._closed[:-4]
        self._opening, self._results, self._blocks = opening, b"", b""

    def _open_message(self) -> bytes:
        return self._opening + (self._results + self._blocks)[1:] + b"]}"

    def _encode_part(self, part: Part, role: Role) -> bytes:
        """The block of a part with a comma before it, or nothing for a part that the API would not take back."""
        block = part if isinstance(part, Opaque) else getattr(part, "block", None)
        if block is not None and block.provider == PROVIDER:
            return self._encode_own(block)
        if isinstance(part, ToolCall):
            return b"," + encode(_ToolUseBlock(part.id, part.tool_name, part.arguments))
        if isinstance(part, Text):
            return b"," + encode(_TextBlock(part.text)) if part.text.strip() else b""
        if isinstance(part, Image | Document) and role is not Role.ASSISTANT:
            return b"," + encode(self._media(part, role))
        if isinstance(part, Thought) and block is None:
            return _encode_thought(part)
        self._leave_out(part)
        return b""

    def _encode_own(self, block: Opaque) -> bytes:
        """A block as the API sent it; the space behind it keeps it from being marked."""
        if block.type == CONTAINER:
            self.container = str(block.data.get("id", ""))
            return b""
        return b"," + encode(block.data) + b" "

    def _encode_result(self, message: Message) -> bytes:
        content: str | list[Any] = result_content(message)
        if any(type(part) is not Text for part in message.parts):
            if message.is_error:  # the API takes only text of a tool that failed
                content = "\n".join(map(describe_part, message.parts))
            else:
                content = [block for part in message.parts if (block := self._result_block(part)) is not None]
        return b"," + encode(_ToolResultBlock(message.tool_call_id or "", content, message.is_error))

    def _result_block(self, part: Part) -> object:
        if isinstance(part, Text):
            return _TextBlock(part.text) if part.text.strip() else None
        if isinstance(part, Image | Document):
            return self._media(part, Role.TOOL_RESULT)
        if isinstance(part, Opaque) and part.provider == PROVIDER:
            return part.data
        self._leave_out(part)
        return None

    def _media(self, part: Image | Document, role: Role) -> object:
        """The block of an image or a document; its bytes are not copied into it."""
        admitted = self._tally.admit_part(part, role)
        if isinstance(admitted, Text):  # which says why it cannot be sent
            return _TextBlock(admitted.text)
        if part.url:
            source: dict[str, Any] = {"type": "url", "url": part.url}
        elif part.blob is None:
            source = {"type": "file", "file_id": part.file_id}
        elif part.media_type == "text/plain":
            source = {"type": "text", "media_type": "text/plain", "data": part.blob.data.decode()}
        else:
            data = self._string(part.blob.base64)
            source = {"type": "base64", "media_type": part.media_type, "data": data}
        if isinstance(part, Image):
            return {"type": "image", "source": source}
        return {"type": "document", "source": source} | ({"title": part.name} if part.name else {})


def _encode_thought(thought: Thought) -> bytes:
    if thought.redacted:
        return b"," + encode(_RedactedBlock(thought.redacted))
    if thought.signature:
        return b"," + encode(_ThinkingBlock(thought.text, thought.signature))
    return b""  # one that was cut off


def _marked(message: bytes, marker: bytes) -> bytes:
    """The message with a cache marker in its last block, unless that is one of the API's own."""
    end = len(message) - len(_END) - message.endswith(b",")
    return message[:end] + marker + message[end:] if message.startswith(_END, end) else message
