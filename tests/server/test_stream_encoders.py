"""Events that are new to a stream, in each of its forms."""

from __future__ import annotations

from typing import Any

import pytest

from maverick.loop.events import AgentActivityEvent, PrefixChanged, ServerToolUsed, SourcesCited
from maverick.loop.prefix import PrefixReason
from maverick.model.server_tools import Citation, ServerToolUse
from maverick.server.events import EventName, StreamEvent, stream_event
from maverick.server.stream_encoders import AgUiEncoder, AiSdkEncoder, StreamEncoder

WHO: dict[str, Any] = {"run_id": "r", "trace_id": "t", "at": 0.0, "agent": ("a",)}
URL = "https://tides.example.com"
USED = ServerToolUsed(**WHO, use=ServerToolUse("web_search", "tides"))
CITED = SourcesCited(**WHO, citations=(Citation("Tides", URL, "noon"), Citation("almanac.pdf")))
CHANGED = PrefixChanged(**WHO, reason=PrefixReason.TOOLS_CHANGED, tokens=1_200)
NOTE = {"text": "tools changed: about 1,200 tokens not cached"}
TEXT = {"name": "web_search", "text": "searched the web: tides"}
SOURCES = {"sources": [{"title": "Tides", "url": URL}, {"title": "almanac.pdf", "url": ""}]}


@pytest.mark.parametrize(
    ("encoder", "used", "cited", "noted"),
    [
        (StreamEncoder, [TEXT], [SOURCES], [NOTE]),
        (
            AgUiEncoder,
            [{"type": "CUSTOM", "name": "server_tool", "value": TEXT}],
            [{"type": "CUSTOM", "name": "sources", "value": SOURCES}],
            [{"type": "CUSTOM", "name": "note", "value": NOTE}],
        ),
        (
            AiSdkEncoder,
            [{"type": "data-server-tool", "data": TEXT}],
            [{"type": "source-url", "sourceId": URL, "title": "Tides", "url": URL}],
            [{"type": "data-note", "data": NOTE}],
        ),
    ],
)
def test_server_tools_sources_and_lost_caching_are_in_every_form_of_the_stream(
    encoder: type[StreamEncoder], used: list[Any], cited: list[Any], noted: list[Any]
) -> None:
    encoding = encoder()
    encoding.encode(StreamEvent(1, EventName.START, {"run_id": "r", "conversation_id": "c"}))

    told: list[tuple[AgentActivityEvent, list[Any]]] = [(USED, used), (CITED, cited), (CHANGED, noted)]
    for number, (event, expected) in enumerate(told, 2):
        streamed = stream_event(event)
        assert streamed is not None
        assert [frame.data for frame in encoding.encode(StreamEvent(number, *streamed))] == expected


START = (EventName.START, {"run_id": "r", "conversation_id": "c"})
CALL = (EventName.TOOL_START, {"id": "1", "name": "list_tasks", "arguments": {}})
RESULT = (EventName.TOOL_END, {"id": "1", "outcome": "finished", "result": {}, "duration_ms": 1})


@pytest.mark.parametrize(
    ("encoder", "text", "once"),
    [
        (AgUiEncoder, "TEXT_MESSAGE_CONTENT", ["RUN_STARTED", "TOOL_CALL_START", "TOOL_CALL_RESULT"]),
        (AiSdkEncoder, "text-delta", ["start", "tool-input-start", "tool-output-available"]),
    ],
)
def test_an_answer_that_begins_again_repeats_nothing_to_clients_that_cannot_take_it_back(
    encoder: type[AgUiEncoder | AiSdkEncoder], text: str, once: list[str]
) -> None:
    encoding, sent = encoder(), list[Any]()
    events: list[tuple[EventName, dict[str, Any]]] = [
        START,
        CALL,
        RESULT,
        (EventName.TEXT, {"text": "One thing. Another."}),
        START,
        CALL,
        RESULT,
        (EventName.TEXT, {"text": "One thing. Another. A third."}),
    ]

    for number, event in enumerate(events, 1):
        sent += [frame.data for frame in encoding.encode(StreamEvent(number, *event))]

    assert "".join(frame["delta"] for frame in sent if frame["type"] == text) == "One thing. Another.A third."
    assert [sum(frame["type"] == kind for frame in sent) for kind in once] == [1, 1, 1]


@pytest.mark.parametrize(
    ("after", "seen", "unseen"), [(10, "", "abcd"), (12, "ab", "cd"), (14, "abcd", ""), (20, "abcd", "")]
)
def test_a_client_gets_the_part_of_a_text_that_it_has_not(after: int, seen: str, unseen: str) -> None:
    parts = StreamEvent(14, EventName.TEXT, {"text": "abcd"}, width=4).after(after)

    assert ["" if part is None else part.data["text"] for part in parts] == [seen, unseen]


@pytest.mark.parametrize("encoder", [AgUiEncoder, AiSdkEncoder])
def test_a_person_is_asked_about_the_call_with_these_arguments(
    encoder: type[AgUiEncoder | AiSdkEncoder],
) -> None:
    encoding = encoder()
    asked = {
        "id": "r:1:0",
        "tool_name": "pay",
        "question": "Pay?",
        "arguments": {"amount": 9},
        "expires_at": None,
        "run_id": "r",
    }
    done = {"status": "waiting", "response": "", "run_id": "r"}
    events: list[tuple[EventName, dict[str, Any]]] = [
        START,
        (EventName.TOOL_START, {"id": "1", "name": "pay", "arguments": {"amount": 9}}),
        (EventName.TOOL_START, {"id": "2", "name": "pay", "arguments": {"amount": 5}}),
        (EventName.APPROVAL, asked),
        (EventName.DONE, done),
    ]

    frames = [frame for n, event in enumerate(events) for frame in encoding.encode(StreamEvent(n, *event))]

    about = [found for frame in frames for found in _call_ids_asked_about(frame.data)]
    assert about == ["r_1"]


def _call_ids_asked_about(data: Any) -> list[str]:
    if not isinstance(data, dict):  # how a stream of the AI SDK ends
        return []
    if data.get("type") == "tool-approval-request":
        return [data["toolCallId"]]
    interrupts = (
        data.get("outcome", {}).get("interrupts", []) if isinstance(data.get("outcome"), dict) else []
    )
    return [interrupt["toolCallId"] for interrupt in interrupts]
