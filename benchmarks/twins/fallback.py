"""A second provider when the first one fails, a shared rate limit, and a cap on what a run may cost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from decimal import Decimal

from aiolimiter import AsyncLimiter
from pydantic_ai import Agent, ModelRequestContext, RunContext, UsageLimitExceeded, UsageLimits
from pydantic_ai.capabilities import Hooks
from pydantic_ai.models.fallback import FallbackModel

limiter = AsyncLimiter(50, 60)
hooks = Hooks()
support = Agent(
    FallbackModel("anthropic:claude-sonnet-5-5", "openai:gpt-6.1-sol"),
    instructions="Answer in one sentence.",
    capabilities=[hooks],
    max_concurrency=8,
)


@hooks.on.before_model_request
async def wait(context: RunContext, request: ModelRequestContext) -> ModelRequestContext:
    async with limiter:
        return request


async def answer(question: str) -> str:
    try:
        result = await support.run(question, usage_limits=UsageLimits(cost_limit=Decimal("0.05")))
    except UsageLimitExceeded as error:
        return str(error)
    return f"{result.response.model_name} (${result.usage.cost or 0:.4f}): {result.output}"


async def main(questions: Sequence[str]) -> None:
    for line in await asyncio.gather(*map(answer, questions)):
        print(line)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
