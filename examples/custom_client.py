"""A model of one's own: anything with ``run`` and ``stream`` is a client, and every agent can use it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from msgspec.structs import replace

from maverick import AgentDefinition, AgentExecutor, ContentChunk
from maverick.exceptions import ServerError
from maverick.loop.events import AgentActivityEvent, RetryScheduled
from maverick.model import ModelInfo, Price, Request, Response, StreamItem, TextDelta, Usage

PRICE = Price(input=1.0, output=2.0)


class ShoutingClient:
    """Repeats the last message, louder. It is overloaded when it is first asked, to show what happens then."""

    def __init__(self) -> None:
        self._asked = 0

    async def run(self, request: Request) -> Response:
        """Answer a request. A client does not retry: it raises, and the executor decides."""
        self._asked += 1
        if self._asked == 1:
            raise ServerError("The shouting service is overloaded. Try again in a moment.", retry_after=0.05)
        said = request.messages[-1].content
        usage = Usage(input_tokens=len(said), output_tokens=len(said) + 1)
        return Response(f"{said.upper()}!", usage=replace(usage, cost_usd=PRICE.cost(usage)))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Answer in pieces; the last item is the whole response."""
        response = await self.run(request)
        for letter in response.content:
            yield TextDelta(letter)
        yield response

    def model_info(self, model: str) -> ModelInfo:  # noqa: ARG002 - it has only one
        """Optional: what is known of the model, so that limits and compaction can use it."""
        return ModelInfo(context_window=8_000, price=PRICE)


def show(event: AgentActivityEvent) -> None:
    """Print the answer as it comes, and the retry."""
    match event:
        case ContentChunk(content=letters):
            print(letters, end="", flush=True)
        case RetryScheduled(attempt=attempt, delay=delay):
            print(f"(attempt {attempt} in {delay:g} s)")
        case _:
            pass


async def main() -> None:
    """Run an agent on the client."""
    parrot = AgentDefinition(name="parrot", description="Repeats things.")
    result = await AgentExecutor(ShoutingClient()).execute(
        parrot, inputs={"prompt": "land ahead"}, on_activity=show
    )
    print(f"\n{result.usage.output_tokens} tokens for ${result.usage.total_cost_usd:.6f}")


if __name__ == "__main__":
    asyncio.run(main())
