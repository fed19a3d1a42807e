"""Models connected to with what the person has set: their key and address, and for the right provider only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from maverick.config import AgentConfig
from maverick.model import ModelInfo, Request, Response, StreamItem
from maverick.providers import Client, connect

WITH_KEY = ("claude", "claude-sdk", "openai")
"""The providers that want a key, unless another address than their own is set."""


def connect_as_set(model: str, settings: AgentConfig) -> Client:
    """A client of a ``provider:model``, with the settings if they are for its provider.

    Raises:
        InvalidInputError: There is no such provider.
    """
    options: dict[str, Any] = {}
    # A key is never handed to another provider than its own.
    if model.partition(":")[0] == settings.provider and settings.provider in WITH_KEY:
        if settings.api_key is not None:
            options["api_key"] = settings.api_key.get_secret_value()
        if settings.base_url is not None:
            options["base_url"] = settings.base_url
    return connect(model, **options)


class ConfiguredModels(Client):
    """Every model that a run and its subagents name, each connected to when it is first asked.

    Args:
        settings: What the person has set.
    """

    def __init__(self, settings: AgentConfig) -> None:
        self._settings = settings
        self._connected: dict[str, Client] = {}

    async def run(self, request: Request) -> Response:
        """Send a request to the model it names."""
        return await self._client(request.config.model).run(request)

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request to the model it names, and yield the answer as it arrives."""
        return self._client(request.config.model).stream(request)

    def model_info(self, model: str) -> ModelInfo:
        """What is known of a model."""
        return self._client(model).model_info(model)

    async def aclose(self) -> None:
        """Let go of all connections."""
        clients, self._connected = self._connected, {}
        for client in clients.values():
            await client.aclose()

    def _client(self, model: str) -> Client:
        if model not in self._connected:
            self._connected[model] = connect_as_set(model, self._settings)
        return self._connected[model]
