"""What the tests of cassettes share: short ways to record, to replay, and to run a small agent on either."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from maverick.exceptions import AgentError
from maverick.model import History, LLMClient, Message, Request, Response, StreamItem
from maverick.providers import Client, connect
from maverick.runtime.cassette import CassetteClient, RecordingClient
from maverick.testing import ScriptedClient, call, calls


class Weather:
    name = "get_weather"
    description = "Today's weather."

    def __init__(self, **properties: Any) -> None:
        self.parameters = MappingProxyType({"type": "object", "properties": properties})

    async def execute(self, args: dict[str, Any]) -> str:
        return "sunny"


def ask(text: str, **more: Any) -> Request:
    return Request(messages=[Message.user(text)], **more)


async def collect(
    client: LLMClient, request: Request, seen: list[StreamItem] | None = None
) -> list[StreamItem]:
    """All a stream yields; a list that is handed in has it even when the stream breaks."""
    seen = [] if seen is None else seen
    async for item in client.stream(request):
        seen.append(item)
    return seen


async def answer(client: LLMClient, request: Request, way: str) -> Response:
    """The response, by either way of asking."""
    if way == "run":
        return await client.run(request)
    last = (await collect(client, request))[-1]
    assert isinstance(last, Response)
    return last


async def record(path: Path, script: Sequence[Any], *requests: Request, way: str = "run") -> None:
    """Record what a script answers to some requests, errors included."""
    async with RecordingClient(ScriptedClient(script), path) as client:
        for request in requests:
            with suppress(AgentError):
                await answer(client, request, way)


def cassette(path: Path) -> CassetteClient:
    client = connect(f"cassette:{path}")
    assert isinstance(client, CassetteClient)
    return client


async def loop(client: Client, turns: int, prompt: str = "Report.") -> list[str]:
    """A run of an agent that may call a tool in each turn; what the model said in each."""
    history = History([Message.user(prompt)])
    said = []
    for turn in range(turns):
        response = await client.run(
            Request(history, tools=[Weather(city={"type": "string"})], system="Be brief.")
        )
        said.append(response.content)
        results = [Message.tool_result(call.id, f"sunny {turn}") for call in response.tool_calls]
        history = history.extended(response.message, *results)
    return said


def scripted_loop(turns: int) -> ScriptedClient:
    """A model for such a run, which calls the tool in each turn."""
    return ScriptedClient([calls(call("get_weather", city="Brest"), text=f"turn {n}") for n in range(turns)])


def content(path: Path) -> bytes:
    return path.read_bytes()


def overwrite(path: Path, new: bytes) -> None:
    path.write_bytes(new)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content(path).split(b"\n") if line]


def answers(path: Path) -> int:
    """How many answers are in the file."""
    kinds = [line["entry"]["type"] for line in lines(path) if "entry" in line]
    return sum(kind in ("ModelReplied", "ModelFailed", "Interrupted") for kind in kinds)
