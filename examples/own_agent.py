"""An agent as a class, from nothing: what it is told, and what it does.

It works through the Claude CLI, which the extra ``claude-code`` brings. With ``ANTHROPIC_API_KEY`` set, Claude
answers. Without it, a few lines of a server on this machine stand in for Claude: the agent and the CLI are the real
ones, which is also how such an agent is tested.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from maverick import MaverickConfig
from maverick.agents import AgentContext, AgentResult, MaverickAgent, registry


@registry.register("namer")
class Namer(MaverickAgent):
    """Finds a name for something."""

    system_prompt = "You find names. Answer with one name and nothing else."

    async def execute(self, context: AgentContext) -> AgentResult[str]:
        """Name what the context says."""
        return await self.run_prompt(f"Find a name for {context.extra['thing']}.", context)


async def main() -> None:
    """Make the agent by its name, as a program that knows nothing else of it would, and run it."""
    with tempfile.TemporaryDirectory() as folder:
        async with surroundings(Path(folder)) as env:
            agent = registry.create("namer", env=env)
            context = AgentContext(Path(folder), "main", MaverickConfig(), extra={"thing": "a runtime"})
            result = await agent.execute(context)
    print(result.output if result.success else result.error)
    print(f"{result.turn_count} turn, {result.usage.total_tokens} tokens")


@asynccontextmanager
async def surroundings(folder: Path) -> AsyncGenerator[dict[str, str]]:
    """What the CLI is started with: nothing more where there is a key, else the stand-in and a home of its own."""
    if os.environ.get("ANTHROPIC_API_KEY"):
        yield {}
        return
    app = web.Application()
    app.router.add_post("/v1/messages", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "not-a-key",
            "HOME": str(folder),
        }
    finally:
        await runner.cleanup()


async def answer(request: web.Request) -> web.StreamResponse:
    """Say one word, in the events of Claude's API."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "stand-in",
        "content": [],
    }
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message | {"usage": {"input_tokens": 40, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Maverick"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    for event in events:
        await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    return response


if __name__ == "__main__":
    asyncio.run(main())
