"""What clients that wrap another client share: they pass on what they do not change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from maverick.model import LLMClient, ModelInfo, Request, StreamItem, model_info
from maverick.model.client import RunScope, own_model, request_defaults, run_scope
from maverick.providers.base import Client


class ClientWrapper(Client):
    """A client round another one: it knows the same models, and closes the other when it is closed."""

    def __init__(self, client: LLMClient) -> None:
        self._client = client
        self.model = own_model(client)
        self.defaults = request_defaults(client)

    def model_info(self, model: str) -> ModelInfo:
        """What the wrapped client knows of a model."""
        return model_info(self._client, model)

    def for_run(self) -> AbstractAsyncContextManager[RunScope | None]:
        """What the wrapped client keeps open for the length of a run."""
        return run_scope(self._client)

    async def aclose(self) -> None:
        """Close the wrapped client."""
        await close_client(self._client)


async def close_client(client: LLMClient) -> None:
    """Close a client, if it is one that can be closed."""
    aclose = getattr(client, "aclose", None)
    if aclose is not None:
        await aclose()


@asynccontextmanager
async def open_stream(client: LLMClient, request: Request) -> AsyncIterator[AsyncIterator[StreamItem]]:
    """The client's stream of an answer, which is closed at the end of the block however the block ends."""
    stream = client.stream(request)
    try:
        yield stream
    finally:
        aclose = getattr(stream, "aclose", None)
        if aclose is not None:
            await aclose()
