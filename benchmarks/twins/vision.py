"""An image, adaptive thinking, and a prompt cache of an hour."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.models.anthropic import AnthropicModelSettings


class Shelf(BaseModel):
    products: list[str]
    gaps: int


stocktaker = Agent(
    "anthropic:claude-opus-5-5",
    instructions="List the products on the shelf, and count the gaps.",
    output_type=Shelf,
    model_settings=AnthropicModelSettings(
        max_tokens=8000,
        anthropic_effort="high",
        anthropic_thinking={"type": "adaptive"},
        anthropic_cache="1h",
    ),
)


async def main(picture: str) -> Shelf:
    result = await stocktaker.run(["Take stock.", BinaryContent.from_path(Path(picture))])
    print(f"{result.usage.cache_read_tokens} of {result.usage.input_tokens} tokens from the cache")
    return result.output


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1])))
