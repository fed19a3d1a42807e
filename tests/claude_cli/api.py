"""A Claude API on this machine for the real CLI to talk to, and the surroundings the CLI is run in."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from canary import CANARY
from maverick.agents import AgentContext, AgentResult, MaverickAgent
from wire.claude_answers import Answer, sse, text, tool_use
from wire.claude_server import FAULTS, Body, ClaudeServer, Fault, Served

Turn = Answer | Fault
"""What the API does with one request."""

HELLO = Answer([text("Hello from the API.")])


class CliApi(ClaudeServer):
    """Plays a list of turns, one for each request; the last one is played again and again."""

    def __init__(self, *turns: Turn) -> None:
        super().__init__()
        self.turns: Sequence[Turn] = turns or (HELLO,)

    def play(self, *turns: Turn) -> None:
        """Begin another list."""
        self.turns = turns
        self.received.clear()

    @property
    def requests(self) -> list[Body]:
        """The bodies of all requests."""
        return [received.body for received in self.received]

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.url = f"{self.url}/cli"
        return self

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        raw = await self._receive(request)
        number = len(self.received)
        turn = self.turns[min(number, len(self.turns)) - 1]
        served = Served(request, self.received[-1].body)
        assert raw
        if not isinstance(turn, Answer):
            return await turn(served)
        unique = f"msg_{number}".encode()
        return await served.send(
            *(piece.replace(b"msg_test_1", unique) for piece in served.answer_bytes(turn))
        )


def calls(*wanted: tuple[str, dict[str, Any]], words: str = "Let me see.") -> Answer:
    """A turn in which the model asks for tools."""
    blocks = [tool_use(f"toolu_{index}", name, **given) for index, (name, given) in enumerate(wanted)]
    return Answer([text(words), *blocks], "tool_use")


def fault(name: str) -> Fault:
    """A turn that goes wrong; see :data:`wire.claude_server.FAULTS`."""
    return FAULTS[name]


async def cut(served: Served) -> web.StreamResponse:
    """An answer that begins, and a connection that is then reset."""
    response = await served.begin()
    for event in list(Answer([text("Hello from the server.")]).events(served.body["model"]))[:5]:
        await response.write(sse(event))
    await asyncio.sleep(1)  # a reset throws away what was not read yet
    assert served.request.transport is not None
    served.request.transport.abort()
    return response


async def refused(served: Served) -> web.StreamResponse:
    """A request that the API will not serve as it is."""
    return served.refuse(400, "invalid_request_error", "tools.0: something is wrong with it")


async def endless(served: Served) -> web.StreamResponse:
    """An answer that begins and then goes on for ever, a word at a time."""
    response = await served.begin()
    for event in list(Answer([text("Once upon a time ")]).events(served.body["model"]))[:5]:
        await response.write(sse(event))
    while True:
        await asyncio.sleep(0.05)
        delta = {"type": "text_delta", "text": "and "}
        await response.write(sse({"type": "content_block_delta", "index": 0, "delta": delta}))


def surroundings(folder: Path, url: str) -> dict[str, str]:
    """An environment in which the CLI finds nothing but what the test gives it."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": CANARY,
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),  # noqa: S108 - what the CLI would use anyway
        "XDG_RUNTIME_DIR": str(home),
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # which it could not reach
    }


class Greeter(MaverickAgent):
    """An agent as a developer would write it: a prompt and ``execute``."""

    @classmethod
    def like(cls, other: Greeter, **options: Any) -> Self:
        """One with options of its own that has the environment of another, and shares its CLIs."""
        made = cls(**{"env": other._chosen["env"], **options})
        made._pools = other._pools
        return made

    def __init__(self, **options: Any) -> None:
        given = {"allowed_tools": ["Read"], "model": "claude-sonnet-4-5"} | options
        super().__init__("greeter", "You greet people.", **given)

    async def execute(self, context: AgentContext) -> AgentResult[Any]:
        return await self.run_prompt("Greet the people here.", context)
