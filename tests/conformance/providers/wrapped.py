"""The clients that wrap another client, each round the one of ``claude:``; and the cassette that one has recorded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from conformance.providers.asking import listen
from conformance.providers.provider import Provider, Stage
from conformance.providers.scenarios import Scenario
from conformance.providers.wired import ClaudeProvider
from maverick import connect
from maverick.exceptions import AgentError, NetworkError
from maverick.model import LLMClient, ModelInfo, Request, Response, StreamItem, model_info
from maverick.providers import Client
from maverick.providers.client import close_client
from maverick.providers.wrappers.fallback import FallbackClient
from maverick.providers.wrappers.limiter import LimitedClient, RateLimiter
from maverick.testing import RecordingClient, ScriptedClient, fail


class WrappedProvider(Provider):
    """A wrapper round the client of ``claude:``, which has to behave as that one does."""

    @abstractmethod
    def wrap(self, client: LLMClient, folder: Path) -> Client:
        """The wrapper; whatever it writes goes into the folder."""

    @asynccontextmanager
    async def stage(self, *scenarios: Scenario) -> AsyncIterator[Stage]:
        with TemporaryDirectory() as folder:
            async with ClaudeProvider().stage(*scenarios) as stage:
                yield replace(stage, client=self.wrap(stage.client, Path(folder)))


class FallbackProvider(WrappedProvider):
    """The second choice, because the first one is never there."""

    name = "fallback"
    passes_on = True

    def wrap(self, client: LLMClient, folder: Path) -> Client:
        gone = ScriptedClient(lambda _: fail(NetworkError("The first choice is not there.")))
        return FallbackClient([gone, client])


class LimitedProvider(WrappedProvider):
    """One at a time, so that a place that is not given back is missed by the next request."""

    name = "limited"
    passes_on = True

    def wrap(self, client: LLMClient, folder: Path) -> Client:
        limiter = RateLimiter(requests_per_minute=10_000, tokens_per_minute=100_000_000, concurrency=1)
        return LimitedClient(client, limiter)


class RecordingProvider(WrappedProvider):
    """A recorder, which passes on what it writes down."""

    name = "recording"
    passes_on = True

    def wrap(self, client: LLMClient, folder: Path) -> Client:
        return RecordingClient(client, folder / "tape.json")


class CassetteProvider(WrappedProvider):
    """What the recorder wrote down, played again."""

    name = "cassette"
    cannot: ClassVar[Mapping[Scenario, str]] = {
        Scenario.PARTIAL: "it plays what had arrived as deltas, and leaves it out of the error",
        Scenario.UNFINISHED: "a recording does not wait",
        Scenario.UNANSWERED: "a recording does not wait",
    }

    def wrap(self, client: LLMClient, folder: Path) -> Client:
        return _Rehearsed(client, folder)


class _Rehearsed(Client):
    """Records what a client answers to a request, and answers from that recording alone."""

    def __init__(self, client: LLMClient, folder: Path) -> None:
        self._client = client
        self._tapes = (folder / f"{number}.json" for number in count())

    async def run(self, request: Request) -> Response:
        tape = next(self._tapes)
        with suppress(AgentError):
            await RecordingClient(self._client, tape).run(request)
        return await connect(f"cassette:{tape}").run(request)

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        tape = next(self._tapes)
        with suppress(AgentError):
            await listen(RecordingClient(self._client, tape), request)
        async for item in connect(f"cassette:{tape}").stream(request):
            yield item

    def model_info(self, model: str) -> ModelInfo:
        return model_info(self._client, model)

    async def aclose(self) -> None:
        await close_client(self._client)
