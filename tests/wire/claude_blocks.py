"""A content block of each type that the Messages API has, as the types of the official SDK describe it."""

from __future__ import annotations

from typing import Any

Block = dict[str, Any]

_DIRECT = {"type": "direct"}
_FROM_CODE = {"type": "code_execution_20260120", "tool_id": "srvtoolu_3"}

WEB_CITATION: Block = {
    "type": "web_search_result_location",
    "cited_text": "High water is at noon.",
    "encrypted_index": "ZW5j",
    "title": "Tides",
    "url": "https://tides.example/brest",
}
PAGE_CITATION: Block = {
    "type": "page_location",
    "cited_text": "Low water is at six.",
    "document_index": 0,
    "document_title": None,
    "start_page_number": 1,
    "end_page_number": 2,
    "file_id": None,
}


def _result(kind: str, call: str, content: object, **fields: object) -> Block:
    return {"type": kind, "tool_use_id": call, "content": content, **fields}


READ: list[Block] = [
    {"type": "thinking", "thinking": "Where?", "signature": "c2ln"},
    {"type": "thinking", "thinking": "", "signature": "ZW1wdHk="},
    {"type": "redacted_thinking", "data": "ZGF0YQ=="},
    {"type": "text", "text": "Let me look.", "citations": None},
    {"type": "text", "text": "High water is at noon.", "citations": [WEB_CITATION, PAGE_CITATION]},
    {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"name": "Brest"}, "caller": _DIRECT},
    {"type": "tool_use", "id": "toolu_2", "name": "find", "input": {"name": "Ys"}, "caller": _FROM_CODE},
]
"""The blocks that become parts of our own."""

KEPT: list[Block] = [
    {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "tides", "nested": {"a": [1, 2.5, None]}},
        "caller": _DIRECT,
    },
    _result(
        "web_search_tool_result",
        "srvtoolu_1",
        [
            {
                "type": "web_search_result",
                "title": "Tides 🌊",
                "url": "https://tides.example",
                "encrypted_content": "ZW5j",
                "page_age": None,
            }
        ],
        caller=_DIRECT,
    ),
    _result(
        "web_fetch_tool_result",
        "srvtoolu_2",
        {
            "type": "web_fetch_result",
            "url": "https://tides.example",
            "retrieved_at": "2026-11-15T00:00:00Z",
            "content": {
                "type": "document",
                "title": "Tides",
                "source": {"type": "text", "media_type": "text/plain", "data": "Noon."},
                "citations": {"enabled": True},
            },
        },
        caller=_FROM_CODE,
    ),
    _result(
        "advisor_tool_result",
        "srvtoolu_9",
        {"type": "advisor_result", "text": "Wait.", "stop_reason": "end_turn"},
    ),
    _result(
        "code_execution_tool_result",
        "srvtoolu_3",
        {"type": "code_execution_result", "content": [], "return_code": 0, "stderr": "", "stdout": "12"},
    ),
    _result(
        "bash_code_execution_tool_result",
        "srvtoolu_4",
        {
            "type": "bash_code_execution_result",
            "content": [{"type": "bash_code_execution_output", "file_id": "file_1"}],
            "return_code": 1,
            "stderr": "no",
            "stdout": "",
        },
    ),
    _result(
        "text_editor_code_execution_tool_result",
        "srvtoolu_5",
        {
            "type": "text_editor_code_execution_view_result",
            "content": "a",
            "file_type": "text",
            "num_lines": 1,
            "start_line": 1,
            "total_lines": 1,
        },
    ),
    _result(
        "tool_search_tool_result",
        "srvtoolu_6",
        {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "find"}],
        },
    ),
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "find", "server_name": "maps", "input": {"q": "x"}},
    _result(
        "mcp_tool_result",
        "mcptoolu_1",
        [{"type": "text", "text": "here", "citations": None}],
        is_error=False,
    ),
    {"type": "container_upload", "file_id": "file_2"},
    {
        "type": "compaction",
        "content": "They asked about tides.",
        "encrypted_content": None,
        "signature": "c2ln",
    },
    {
        "type": "fallback",
        "from": {"model": "claude-opus-5-5"},
        "to": {"model": "claude-opus-5"},
        "trigger": {"type": "refusal", "category": "cyber"},
    },
    {"type": "mcp_tool_listing", "mcp_server_name": "maps", "tools": []},
]
"""The blocks that are not interpreted."""
