"""What every built-in client shares: it opens on first use and closes when told to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from maverick.model import ModelInfo, Request, Response, StreamItem
from maverick.model.client import NO_DEFAULTS, UNKNOWN_MODEL, RequestDefaults


class Client(ABC):
    """An ``LLMClient`` with a lifetime: ``async with client:``, or ``await client.aclose()`` when done."""

    model: str = ""
    """The ``provider:model`` it asks when a request names none."""
    defaults: RequestDefaults = NO_DEFAULTS
    """What holds for requests that do not say otherwise; ``maverick.connect`` sets it from the settings."""

    @abstractmethod
    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""

    @abstractmethod
    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""

    def model_info(self, model: str) -> ModelInfo:  # noqa: ARG002 - for clients that know more
        """What this client knows of a model."""
        return UNKNOWN_MODEL

    async def aclose(self) -> None:  # noqa: B027 - most clients hold nothing open
        """Let go of connections; the client opens them again if it is used again."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
