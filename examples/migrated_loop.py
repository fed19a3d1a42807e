"""A hand-written loop on the Anthropic SDK, moved over.

What it had: a list of tool schemas, a dictionary of functions, a ``while`` loop until ``stop_reason`` is not
``tool_use``, retries, and conversations that were kept as JSON. The functions stay, with ``@tool``. The
conversations stay, too: ``messages_from_anthropic`` reads them. The rest goes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from maverick import AgentExecutor, LLMClient, RunConfig, define_agent, messages_from_anthropic, tool

STOCK = {"nails": 120, "screws": 8}


@tool(effect="pure")
def count_stock(item: str) -> int:
    """How many of an item are in stock."""
    return STOCK[item]


@tool
def order(item: str, number: int) -> str:
    """Order more of an item."""
    STOCK[item] += number
    return f"{number} {item} ordered"


clerk = define_agent(
    "clerk",
    "You look after the stock.",
    model="claude:claude-sonnet-5-5",
    tools=[count_stock, order],
    limits=RunConfig(max_turns=10),
)


async def main(prompt: str, kept: list[dict[str, Any]], client: LLMClient | None = None) -> str:
    """Go on with a conversation that the old program kept."""
    messages = messages_from_anthropic(kept)
    async with AgentExecutor(client) as executor:
        result = await executor.execute(clerk, inputs={"prompt": prompt}, messages=messages)
    return result.unwrap()


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))))
