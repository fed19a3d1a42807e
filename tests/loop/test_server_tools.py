"""What a provider's own tools did and what an answer cites: told while it streams, and the same when it is replayed."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maverick import AgentExecutor
from maverick.cli.event_printer import EventPrinter
from maverick.cli.screen import Screen
from maverick.journal import SqliteJournal
from maverick.loop.events import AgentActivityEvent, ContentChunk, ServerToolUsed, SourcesCited
from maverick.model import ModelInfo, Opaque, Part, Request, Response, StreamItem, Text, TextDelta
from maverick.model.server_tools import Citation, ServerToolUse, citations_of
from scenario import agent

TIDES = "https://tides.example.com/brest"


def claude(**data: Any) -> Opaque:
    return Opaque("claude", data)


def openai(**data: Any) -> Opaque:
    return Opaque("openai", data)


SEARCH = claude(type="server_tool_use", id="s", name="web_search", input={"query": "tides in Brest"})
RESULT = claude(
    type="web_search_tool_result", tool_use_id="s", content=[{"type": "web_search_result", "url": TIDES}]
)
CITED = Text(
    "High at noon.",
    claude(
        type="text",
        text="High at noon.",
        citations=[
            {"type": "web_search_result_location", "url": TIDES, "title": "Tides", "cited_text": "noon"},
            {"type": "web_search_result_location", "url": TIDES, "title": "Tides", "cited_text": "again"},
            {"type": "page_location", "document_title": "Almanac", "cited_text": "12:00"},
        ],
    ),
)
ANNOTATED = Text(
    "High at noon.",
    openai(
        type="message",
        content=[
            {
                "type": "output_text",
                "text": "High at noon.",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url": TIDES,
                        "title": "Tides",
                        "start_index": 0,
                        "end_index": 4,
                    },
                    {"type": "file_citation", "file_id": "f", "filename": "almanac.pdf", "index": 3},
                    {"type": "url_citation", "url": "javascript:alert(1)", "title": "Odd"},
                ],
            }
        ],
    ),
)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (SEARCH, "searched the web: tides in Brest"),
        (RESULT, None),
        (
            claude(
                type="web_search_tool_result",
                content={"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
            ),
            "web_search failed: max_uses_exceeded",
        ),
        (
            claude(type="server_tool_use", name="bash_code_execution", input={"command": "ls\n -l"}),
            "ran code: ls -l",
        ),
        (claude(type="mcp_tool_use", name="find", server_name="wiki", input={"page": 1}), "used find"),
        (claude(type="compaction", content="…"), None),
        (
            openai(type="web_search_call", status="completed", action={"type": "search", "query": "tides"}),
            "searched the web: tides",
        ),
        (
            openai(type="web_search_call", status="completed", action={"type": "open_page", "url": TIDES}),
            f"searched the web: {TIDES}",
        ),
        (
            openai(type="file_search_call", status="failed", queries=["a", "b"]),
            "searched files: a; b: failed",
        ),
        (openai(type="code_interpreter_call", code="1 + 1", container_id="c"), "ran code: 1 + 1"),
        (
            openai(type="mcp_call", name="find", arguments='{"x": 1}', error={"message": "gone"}),
            'used find: {"x": 1}: gone',
        ),
        (openai(type="reasoning", encrypted_content="…"), None),
    ],
)
def test_a_block_tells_in_one_line_what_the_tool_did(block: Opaque, said: str | None) -> None:
    use = ServerToolUse.of(block)

    assert (None if use is None else str(use)) == said


def test_sources_are_named_once_and_only_web_addresses_are_addresses() -> None:
    assert citations_of([CITED]) == (Citation("Tides", TIDES, "noon"), Citation("Almanac", quote="12:00"))
    assert citations_of([ANNOTATED]) == (Citation("Tides", TIDES), Citation("almanac.pdf"), Citation("Odd"))


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,  # many more only take longer to make up
)


@given(
    st.sampled_from(["server_tool_use", "web_search_tool_result", "web_search_call", "mcp_call", "text"]),
    st.dictionaries(
        st.sampled_from(
            ["name", "input", "content", "action", "error", "status", "citations", "annotations", "query"]
        ),
        json,
    ),
)
def test_no_block_is_too_odd_to_be_read(kind: str, data: dict[str, Any]) -> None:
    block = Opaque("claude", {**data, "type": kind})

    str(ServerToolUse.of(block))
    citations_of([Text("x", block), Text("x", Opaque("openai", {"content": [data]}))])


class Searching:
    """A client whose answer has a web search in it; its blocks are streamed, or come with the whole answer only."""

    def __init__(self, *, streams_blocks: bool) -> None:
        self._streams_blocks = streams_blocks
        self._parts: list[Part] = [Text("Let me look. "), SEARCH, RESULT, CITED]

    def model_info(self, _: str) -> ModelInfo:
        return ModelInfo()

    async def run(self, _: Request) -> Response:
        return Response(self._parts)

    async def stream(self, _: Request) -> AsyncIterator[StreamItem]:
        for part in self._parts:
            if isinstance(part, Text):
                yield TextDelta(part.text)
            elif isinstance(part, Opaque) and self._streams_blocks:
                yield part
        yield Response(self._parts)


@pytest.mark.parametrize("streams_blocks", [True, False])
async def test_the_events_of_a_run_are_the_same_live_and_replayed(
    tmp_path: Path, streams_blocks: bool
) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        executor = AgentExecutor(Searching(streams_blocks=streams_blocks), journal=journal)
        live = [event async for event in executor.stream(agent(), run_id="r")]
        replayed = [event async for event in executor.replay("r", agent())]

    for events in (live, replayed):
        (use,) = of(events, ServerToolUsed)
        (sources,) = of(events, SourcesCited)
        assert str(use.use) == "searched the web: tides in Brest"
        assert [citation.title for citation in sources.citations] == ["Tides", "Almanac"]
        assert events.index(of(events, ContentChunk)[-1]) < events.index(sources)
    if streams_blocks:
        kinds = [
            event.type for event in live if isinstance(event, ContentChunk | ServerToolUsed | SourcesCited)
        ]
        assert kinds == ["content_chunk", "server_tool_used", "content_chunk", "sources_cited"]


async def test_a_terminal_shows_a_line_for_each_and_the_sources_after_the_answer() -> None:
    out, err = io.StringIO(), io.StringIO()
    printer = EventPrinter(Screen(out, err, colour=False))
    async for event in AgentExecutor(Searching(streams_blocks=True)).stream(agent()):
        printer.show(event)

    assert out.getvalue().split() == ["Let", "me", "look.", "High", "at", "noon."]
    lines = [line.strip() for line in err.getvalue().splitlines()]
    assert [line for line in lines if line] == [
        "· searched the web: tides in Brest",
        f"[1] Tides {TIDES}",
        "[2] Almanac",
    ]


def of(events: list[AgentActivityEvent], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
