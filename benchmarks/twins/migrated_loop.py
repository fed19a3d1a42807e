"""A hand-written loop on the Anthropic SDK, moved over, with the conversations that it kept."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import (
    Agent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UsageLimits,
    UserPromptPart,
)

STOCK = {"nails": 120, "screws": 8}
clerk = Agent("anthropic:claude-sonnet-5-5", instructions="You look after the stock.")


@clerk.tool_plain
def count_stock(item: str) -> int:
    """How many of an item are in stock."""
    return STOCK[item]


@clerk.tool_plain
def order(item: str, number: int) -> str:
    """Order more of an item."""
    STOCK[item] += number
    return f"{number} {item} ordered"


def from_anthropic(kept: list[dict[str, Any]]) -> list[ModelMessage]:
    history: list[ModelMessage] = []
    names: dict[str, str] = {}
    for message in kept:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        asked, answered = [], []
        for block in blocks:
            match block["type"]:
                case "text":
                    asked.append(UserPromptPart(block["text"]))
                    answered.append(TextPart(block["text"]))
                case "tool_use":
                    names[block["id"]] = block["name"]
                    answered.append(ToolCallPart(block["name"], block["input"], block["id"]))
                case "tool_result":
                    call = block["tool_use_id"]
                    asked.append(ToolReturnPart(names[call], block["content"], call))
        if message["role"] == "user":
            history.append(ModelRequest(parts=asked))
        else:
            history.append(ModelResponse(parts=answered))
    return history


async def main(prompt: str, kept: list[dict[str, Any]]) -> str:
    result = await clerk.run(
        prompt, message_history=from_anthropic(kept), usage_limits=UsageLimits(request_limit=10)
    )
    return result.output


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))))
