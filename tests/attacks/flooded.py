"""Asks a model server that does not end, and prints by how many kilobytes its memory grew before it refused the answer."""

from __future__ import annotations

import asyncio
import resource
import sys

from maverick import connect
from maverick.exceptions import MalformedResponseError
from maverick.model import Message, Request

ASKED = Request(messages=[Message.user("hi")])


async def ask(base_url: str, kind: str) -> None:
    """Read the answer, streamed if it is of that kind."""
    async with connect("claude:m", api_key="k", base_url=base_url, max_answer_bytes=4 << 20) as client:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            if kind == "text/event-stream":
                async for _ in client.stream(ASKED):
                    pass
            else:
                await client.run(ASKED)
        except MalformedResponseError:
            sys.stdout.write(f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before}\n")


if __name__ == "__main__":
    asyncio.run(ask(*sys.argv[1:]))
