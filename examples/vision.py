"""An image, adaptive thinking, and a prompt cache of an hour."""

from __future__ import annotations

import asyncio
import sys

from pydantic import BaseModel

from maverick import AgentExecutor, Image, LLMClient, ModelConfig, define_agent


class Shelf(BaseModel):
    """What is on a shelf."""

    products: list[str]
    gaps: int


stocktaker = define_agent(
    "stocktaker",
    "List the products on the shelf, and count the gaps.",
    model=ModelConfig(
        "claude:claude-opus-5-5", max_tokens=8000, effort="high", thinking="adaptive", cache="1h"
    ),
    output=Shelf,
)


async def main(picture: str, client: LLMClient | None = None) -> Shelf:
    """Look at a picture."""
    async with AgentExecutor(client) as executor:
        result = await executor.execute(
            stocktaker, inputs={"prompt": ["Take stock.", Image.from_path(picture)]}
        )
    print(f"{result.usage.cache_read_tokens} of {result.usage.input_tokens} tokens from the cache")
    return result.unwrap()


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1])))
