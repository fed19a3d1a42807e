"""A program that leaves queries early, in every way, and ends: ``python -m claude_cli.leaver URL FOLDER``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from claude_cli.api import Greeter, surroundings

kept: list[object] = []


async def leave(how: str, url: str, folder: Path) -> None:
    agent = Greeter(env=surroundings(folder, url), partial_messages=True, warm=how == "warm")
    if how == "warm":
        await agent.warm_up()
        return
    messages = agent.query("Tell.", folder)
    if how == "kept":
        kept.append(messages)
    async for _ in messages:
        break
    if how == "later":
        del messages
        await asyncio.sleep(0.1)


if __name__ == "__main__":
    url, folder = sys.argv[1:]
    for how in ("at once", "later", "warm", "kept"):
        asyncio.run(leave(how, url, Path(folder)))
