"""The Chat API under load: many users at once and a model that costs nothing, beside a bare route with the same SQL."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.chat_apps import ANSWER, SECRET, bare_route, chat_api
from benchmarks.figure import Figure, Target
from benchmarks.served_process import MakeApp, ServedProcess
from maverick.server import Principal, TokenSigner

_USERS = 200
_REQUESTS = 10
"""Of each user, one after the other."""
_WARM = 2


@dataclass(frozen=True, slots=True)
class _Load:
    """What came of it."""

    errors: int
    seconds: float
    latencies: list[float]
    cpu: float
    megabytes: float

    @property
    def p99(self) -> float:
        return sorted(self.latencies)[int(len(self.latencies) * 0.99)]


def measure(rounds: int) -> Iterator[Figure]:  # noqa: ARG001 - one load is thousands of requests, and an average itself
    total = _USERS * _REQUESTS
    bare, ours = _load(bare_route), _load(chat_api)
    name = f"chat API, {_USERS} users at once, {total:,} answers"
    yield Figure(f"{name}: errors", ours.errors, "", Target(0))
    yield Figure(f"{name}: speed", total / ours.seconds, "req/s")
    yield Figure(f"{name}: speed per core", total / ours.cpu, "req/s")
    yield Figure(f"{name}: latency p99", ours.p99 * 1000, "ms")
    yield Figure(f"{name}: most memory", ours.megabytes, "MB", Target(300))
    yield Figure("bare FastAPI route with the same SQL: errors", bare.errors, "")
    yield Figure("bare FastAPI route with the same SQL: speed", total / bare.seconds, "req/s")
    yield Figure("bare FastAPI route with the same SQL: speed per core", total / bare.cpu, "req/s")
    yield Figure("bare FastAPI route with the same SQL: latency p99", bare.p99 * 1000, "ms")
    yield Figure("bare FastAPI route with the same SQL: most memory", bare.megabytes, "MB")
    yield Figure("chat API beside it: time for all answers", ours.seconds / bare.seconds, "×", Target(1.25))
    yield Figure("chat API beside it: latency p99", ours.p99 / bare.p99, "×", Target(2))
    yield Figure("chat API beside it: CPU of an answer", ours.cpu / bare.cpu, "×", Target(1.25))


def _load(make_app: MakeApp) -> _Load:
    with (
        tempfile.TemporaryDirectory() as folder,
        ServedProcess(make_app, str(Path(folder) / "chat.db")) as served,
    ):
        asyncio.run(_ask_all(served.url, _WARM))
        before, _ = served.used()
        began = time.perf_counter()
        answered = asyncio.run(_ask_all(served.url, _REQUESTS))
        seconds = time.perf_counter() - began
        cpu, megabytes = served.used()
    latencies = [latency for latency, _ in answered]
    return _Load(sum(not good for _, good in answered), seconds, latencies, cpu - before, megabytes)


async def _ask_all(url: str, requests: int) -> list[tuple[float, bool]]:
    """How long each request took, and whether it was answered."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, connector=connector) as http:
        people = (_talk(http, f"user {number}", requests) for number in range(_USERS))
        return [answered for talk in await asyncio.gather(*people) for answered in talk]


async def _talk(http: aiohttp.ClientSession, user_id: str, requests: int) -> list[tuple[float, bool]]:
    headers = {"Authorization": f"Bearer {TokenSigner(SECRET).issue(Principal(user_id, user_id))}"}
    answered, conversation = [], None
    for _ in range(requests):
        began = time.perf_counter()
        body = {"message": "What is there to do today?", "conversation_id": conversation}
        answer: dict[str, Any] = {}
        with suppress(aiohttp.ClientError):  # counted as an error below
            async with http.post("/api/chat", json=body, headers=headers) as response:
                answer = await response.json()
        answered.append((time.perf_counter() - began, answer.get("response") == ANSWER))
        conversation = answer.get("conversation_id", conversation)
    return answered
