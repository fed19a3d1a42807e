"""Events that are new to a stream, in each of its forms."""

from __future__ import annotations

from typing import Any

import pytest

from maverick.loop.events import ServerToolUsed, SourcesCited
from maverick.model.server_tools import Citation, ServerToolUse
from maverick.server.events import EventName, StreamEvent, stream_event
from maverick.server.stream_encoders import AgUiEncoder, AiSdkEncoder, StreamEncoder

WHO: dict[str, Any] = {"run_id": "r", "trace_id": "t", "at": 0.0, "agent": ("a",)}
URL = "https://tides.example.com"
USED = ServerToolUsed(**WHO, use=ServerToolUse("web_search", "tides"))
CITED = SourcesCited(**WHO, citations=(Citation("Tides", URL, "noon"), Citation("almanac.pdf")))
TEXT = {"name": "web_search", "text": "searched the web: tides"}
SOURCES = {"sources": [{"title": "Tides", "url": URL}, {"title": "almanac.pdf", "url": ""}]}


@pytest.mark.parametrize(
    ("encoder", "used", "cited"),
    [
        (StreamEncoder, [TEXT], [SOURCES]),
        (
            AgUiEncoder,
            [{"type": "CUSTOM", "name": "server_tool", "value": TEXT}],
            [{"type": "CUSTOM", "name": "sources", "value": SOURCES}],
        ),
        (
            AiSdkEncoder,
            [{"type": "data-server-tool", "data": TEXT}],
            [{"type": "source-url", "sourceId": URL, "title": "Tides", "url": URL}],
        ),
    ],
)
def test_server_tools_and_sources_are_in_every_form_of_the_stream(
    encoder: type[StreamEncoder], used: list[Any], cited: list[Any]
) -> None:
    encoding = encoder()
    encoding.encode(StreamEvent(1, EventName.START, {"run_id": "r", "conversation_id": "c"}))

    for number, (event, expected) in enumerate(((USED, used), (CITED, cited)), 2):
        streamed = stream_event(event)
        assert streamed is not None
        assert [frame.data for frame in encoding.encode(StreamEvent(number, *streamed))] == expected
