"""A developer's program that leaves everything to the settings: ``python -m cli.plain_program client|executor``."""

from __future__ import annotations

import asyncio
import sys

from maverick import AgentDefinition, AgentExecutor, connect
from maverick.model import Message, Request


async def client() -> None:
    async with connect() as client:
        await client.run(Request(messages=[Message.user("hello")]))


async def executor() -> None:
    async with AgentExecutor() as executor:
        await executor.execute(
            AgentDefinition(name="helper", description="Helps."), inputs={"prompt": "hello"}
        )


if __name__ == "__main__":
    asyncio.run({"client": client, "executor": executor}[sys.argv[1]]())
