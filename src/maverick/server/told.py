"""What every other form of the stream has to remember while it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from maverick.server.event_log import StreamEvent


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of an event stream."""

    data: Mapping[str, Any] | str
    event: str = ""


class Teller(Protocol):
    """Tells an answer in one of the forms of the stream."""

    headers: Mapping[str, str]
    """What a response in this form says of itself."""

    def feed(self, event: StreamEvent) -> list[Frame]:
        """What is sent for the next event."""
        ...


class PlainTeller:
    """Tells the events as they are."""

    headers: Mapping[str, str] = {}

    def feed(self, event: StreamEvent) -> list[Frame]:
        """What is sent for the next event."""
        return [Frame(event.data, event.name)]


class Told:
    """The words and calls of an answer so far: for protocols in which every piece of text has a beginning and an end."""

    headers: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.scope = ""
        """What the ids of texts and calls begin with, so that none is met twice in a conversation: the answer's id."""
        self.block = ""
        """The id of the text that is being told, if one is."""
        self.text = ""
        """The words since the last tool call."""
        self._blocks = 0
        self._calls: dict[str, str] = {}
        self._renamed: dict[str, str] = {}

    def begin(self) -> str:
        """A new piece of text; returns its id."""
        self._blocks += 1
        self.block = f"{self.scope}_text_{self._blocks}"
        return self.block

    def end(self) -> str:
        """The piece of text is over; returns its id, if there was one."""
        block, self.block, self.text = self.block, "", ""
        return block

    def call_id(self, data: Mapping[str, Any]) -> str:
        """The id of a call, as it is told."""
        return self._renamed.get(data["id"]) or f"{self.scope}_{data['id']}"

    def rename(self, data: Mapping[str, Any], call_id: str) -> None:
        """A call is told as another one."""
        self._renamed[data["id"]] = call_id

    def call(self, data: Mapping[str, Any]) -> str:
        """A tool is called; returns the id of the call, as it is told."""
        self._calls[data["name"]] = self.call_id(data)
        return self._calls[data["name"]]

    def call_of(self, tool_name: str) -> str | None:
        """The last call of a tool."""
        return self._calls.get(tool_name)
