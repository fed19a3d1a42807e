"""A Messages API on this machine whose answers a test writes, for the real CLI to talk to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from canary import CANARY
from maverick import AgentDefinition, AgentExecutor, AgentResult
from maverick.loop.events import AgentActivityEvent
from maverick.model import LLMClient
from maverick.providers.claude_cli.client import CliClient, connect
from wire.claude_answers import Answer, error_body, sse, text, tool_use

Body = dict[str, Any]
Said = Answer | int | None
"""An answer, a status to fail with, or nothing at all: the server keeps silent."""
Script = Callable[[Body, int], Said]
"""What is said to the request of this number, counted from 1."""

MODEL = "claude-sonnet-4-5"


def says(words: str) -> Answer:
    """A turn that ends with words."""
    return Answer([text(words)])


def calls(*uses: tuple[str, Mapping[str, Any]], words: str = "") -> Answer:
    """A turn that calls tools, each with an id of its own."""
    blocks = [tool_use(f"toolu_{next_id()}", name, **arguments) for name, arguments in uses]
    return Answer([*([text(words)] if words else []), *blocks], "tool_use")


def in_turn(*turns: Said) -> Script:
    """One thing after the other."""
    return lambda _, number: turns[number - 1]


def ours(name: str) -> str:
    """What the CLI calls a tool of ours."""
    return f"mcp__maverick__{name}"


_ids = iter(range(1, 1 << 30))


def next_id() -> int:
    """A number that was not used before."""
    return next(_ids)


@dataclass
class ScriptedAPI:
    """The server, for the length of an ``async with`` block.

    Args:
        folder: Where the CLI has its home and does its work.
        script: What the model says.
    """

    folder: Path
    script: Script
    bodies: list[Body] = field(default_factory=list)
    """The requests so far."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there is a first one."""

    @property
    def work(self) -> Path:
        """The folder the CLI works in."""
        return self.folder / "work"

    def client(self, **options: Any) -> CliClient:
        """A client whose CLI talks to this server."""
        home = self.folder / "home"
        env = {
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # which it could not reach
        }
        return connect(MODEL, cwd=self.work, base_url=self.url, api_key=CANARY, env=env, **options)

    async def __aenter__(self) -> Self:
        for name in ("home", "work"):
            (self.folder / name).mkdir(exist_ok=True)
        app = web.Application(client_max_size=1 << 28)
        app.router.add_post("/v1/messages", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.bodies.append(body)
        self.asked.set()
        said = self.script(body, len(self.bodies))
        if said is None:
            await asyncio.Event().wait()
        if isinstance(said, int):
            return web.json_response(error_body("api_error", "It failed."), status=said)
        assert isinstance(said, Answer)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in said.events(body["model"]):
            if "message" in event:  # the CLI takes messages of one id for parts of one message
                event["message"]["id"] = f"msg_{next_id()}"
            await response.write(sse(event))
        return response


Serve = Callable[[Script], Awaitable[ScriptedAPI]]
"""Starts a server with a script."""


def conversation(body: Body) -> list[tuple[str, list[Any]]]:
    """What was said in a request, without what the CLI adds on its own."""
    said = []
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        said.append((message["role"], [_plain(block) for block in blocks if not _is_reminder(block)]))
    return said


def _is_reminder(block: Body) -> bool:
    return str(block.get("text", "")).startswith("<system-reminder>")


def _plain(block: Body) -> Any:
    match block["type"]:
        case "text":
            return block["text"]
        case "tool_use":
            return (block["name"], block["input"])
        case "tool_result":
            content = block["content"]
            if isinstance(content, list):
                content = "".join(piece["text"] for piece in content)
            return content.partition("<system-reminder>")[0].rstrip()
    return block["type"]


@dataclass
class Seen:
    """A run that was watched to its end."""

    result: AgentResult[Any]
    events: list[AgentActivityEvent]

    @property
    def types(self) -> list[str]:
        """The types of all events, in order."""
        return [event.type for event in self.events]


async def see(client: LLMClient, definition: AgentDefinition[Any], **options: Any) -> Seen:
    """Run an agent with a listener."""
    events: list[AgentActivityEvent] = []
    result = await AgentExecutor(client).execute(definition, on_activity=events.append, **options)
    return Seen(result, events)
