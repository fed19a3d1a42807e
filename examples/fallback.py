"""A second provider when the first one fails, a shared rate limit, and a cap on what a run may cost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from maverick import AgentExecutor, LLMClient, RunConfig, connect, define_agent
from maverick.providers.wrappers import FallbackClient, LimitedClient, RateLimiter

support = define_agent("support", "Answer in one sentence.", limits=RunConfig(max_cost_usd=0.05))


async def main(questions: Sequence[str], clients: Sequence[LLMClient] = ()) -> None:
    """Answer all questions at once, as fast as the limit allows."""
    clients = clients or [connect("claude:claude-sonnet-5-5"), connect("openai:gpt-6.1-sol")]
    limiter = RateLimiter(requests_per_minute=50, concurrency=8)
    async with FallbackClient([LimitedClient(client, limiter) for client in clients]) as client:
        executor = AgentExecutor(client)
        runs = [executor.execute(support, inputs={"prompt": question}) for question in questions]
        results = await asyncio.gather(*runs)
    for result in results:
        cost = result.usage.total_cost_usd or 0
        print(f"{result.metadata['model']} (${cost:.4f}): {result.output or result.error}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
