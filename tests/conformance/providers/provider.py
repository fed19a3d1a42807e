"""What the suite needs to know of a provider: how to get a client of it that will behave as a scenario says."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import ClassVar

from canary import CANARY
from conformance.providers.scenarios import Scenario
from maverick.model import LLMClient, ModelInfo, Request, Response, StreamItem, model_info
from maverick.providers import Client
from maverick.providers.client import close_client, open_stream

KEY = f"key-{CANARY}"
"""The key that every client has and no message may repeat; no vendor's keys begin like that."""


async def at_once() -> None:
    """For a client without a connection: it is as far as it can get when it has had its turn."""
    await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Stage:
    """A client, and the other side of its connection as far as there is one."""

    client: LLMClient
    asked: Callable[[], Awaitable[object]] = at_once
    """Waits until the service has a request."""
    hung_up: Callable[[], Awaitable[object]] = at_once
    """Waits until the service has seen a connection go that it had not finished with."""


class Provider(ABC):
    """A provider under test."""

    name: ClassVar[str]
    cannot: ClassVar[Mapping[Scenario, str]] = {}
    """The scenarios it cannot have, each with the reason."""
    passes_on: ClassVar[bool] = False
    """Whether it hands requests and answers on as they are to another that is tested itself: an answer and one fault do."""
    hello: ClassVar[str] = "Hello from the server. 你好 🌍"
    """What it says in ``Scenario.TEXT``."""

    @abstractmethod
    def stage(self, *scenarios: Scenario) -> AbstractAsyncContextManager[Stage]:
        """A client that behaves as these scenarios say: one request after the other, and on as the last one."""


def in_turn(clients: Sequence[LLMClient]) -> LLMClient:
    """A client that hands each request to the next of these clients, and all that follow to the last one."""
    return _InTurn(clients) if len(clients) > 1 else clients[0]


class _InTurn(Client):
    def __init__(self, clients: Sequence[LLMClient]) -> None:
        self._clients = list(clients)

    async def run(self, request: Request) -> Response:
        return await self._next().run(request)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        async with open_stream(self._next(), request) as items:
            async for item in items:
                yield item

    def model_info(self, model: str) -> ModelInfo:
        return model_info(self._clients[-1], model)

    async def aclose(self) -> None:
        for client in self._clients:
            await close_client(client)

    def _next(self) -> LLMClient:
        return self._clients.pop(0) if len(self._clients) > 1 else self._clients[0]
