"""An improvised answer in Claude's blocks."""

from __future__ import annotations

from strict.claude_rules import MODELS, Body
from strict.claude_server import Said
from strict.improviser import Ending, Improviser, Kind, Move

_REASONS = {
    Ending.DONE: "end_turn",
    Ending.TOOLS: "tool_use",
    Ending.PAUSE: "pause_turn",
}


class ClaudeAuthor:
    """Answers a request as the improviser says, with the tools that the request offers."""

    def __init__(self, improviser: Improviser) -> None:
        self._improviser = improviser

    def __call__(self, body: Body) -> Said:
        tools = [tool["name"] for tool in body.get("tools", []) if "input_schema" in tool]
        searches = any(tool.get("name") == "web_search" for tool in body.get("tools", []))
        plan = self._improviser.answer(tools, searches=searches)
        thinks = body.get("thinking", {}).get("type") != "disabled" and MODELS[body["model"]].preserved
        moves = [move for move in plan.moves if thinks or move.kind not in (Kind.THINK, Kind.THINK_HIDDEN)]
        searched = sum(move.kind is Kind.SEARCH for move in moves)
        usage: Body = {"server_tool_use": {"web_search_requests": searched}} if searched else {}
        return Said([block for move in moves for block in _blocks(move)], _REASONS[plan.ending], usage)


def _blocks(move: Move) -> list[Body]:
    match move.kind:
        case Kind.THINK:
            return [{"type": "thinking", "thinking": move.text}]
        case Kind.THINK_HIDDEN:
            return [{"type": "redacted_thinking"}]
        case Kind.CALL:
            return [
                {"type": "tool_use", "id": f"toolu_{move.number}", "name": move.tool, "input": move.arguments}
            ]
        case Kind.SEARCH:
            return _search(move)
        case Kind.CITE:
            return [{"type": "text", "text": move.text, "citations": [_citation(move)]}]
    return [{"type": "text", "text": move.text}]


def _search(move: Move) -> list[Body]:
    call = f"srvtoolu_{move.number}"
    found = {
        "type": "web_search_result",
        "url": f"https://pages.example/{move.number}",
        "title": "A page",
        "encrypted_content": f"sealed-{move.number}",
        "page_age": None,
    }
    return [
        {"type": "server_tool_use", "id": call, "name": "web_search", "input": {"query": move.text}},
        {"type": "web_search_tool_result", "tool_use_id": call, "content": [found]},
    ]


def _citation(move: Move) -> Body:
    return {
        "type": "web_search_result_location",
        "cited_text": "the tide is high",
        "encrypted_index": f"index-{move.number}",
        "title": "A page",
        "url": "https://pages.example/1",
    }
