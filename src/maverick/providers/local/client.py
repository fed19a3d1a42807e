"""A model in a file: the client ``local:path.gguf``, on llama.cpp through the ``local`` extra.

The first request starts llama.cpp's server in a process of its own (:mod:`~maverick.providers.local.server`), which
takes as long as the model takes to load; after that it is asked like any other Chat Completions server.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from maverick.exceptions import InvalidInputError, NetworkError, StreamingError
from maverick.model import ModelInfo, Price, Request, Response, StreamItem
from maverick.providers.client import Client, open_stream
from maverick.providers.http.transport import Timeouts
from maverick.providers.local.server import LocalServer, Settings
from maverick.providers.openai.client import OpenAIChatClient

_FREE = Price(0, 0)
_MAGIC = b"GGUF"


class LocalClient(Client):
    """A client of a model in a GGUF file. Nothing is loaded before the first request.

    Args:
        model: The path of the file.
        context_window: How many tokens a conversation and its answer may have together. More needs more memory.
        threads: How many threads to use; by default one less than there are processors.
        gpu_layers: How many layers of the model to put on the GPU; by default, what llama.cpp finds best.
        load_timeout: How many seconds the model may take to load.
        timeouts: How long to wait for an answer.
        max_tokens: The most tokens of an answer when a request does not say; small models do not always stop.
        extra: Fields to add to every request, such as ``{"top_p": 0.9}``.

    Raises:
        InvalidInputError: There is no such file, or it is not a GGUF file.
        ModuleNotFoundError: The extra is not installed; ``maverick.connect`` says how to install it.
    """

    def __init__(
        self,
        model: str,
        *,
        context_window: int = 8192,
        threads: int | None = None,
        gpu_layers: int | None = None,
        load_timeout: float = 600,
        timeouts: Timeouts | None = None,
        max_tokens: int = 1024,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        path = Path(model.removeprefix("local:")).expanduser()
        _check_file(path)
        if find_spec("xllamacpp") is None:  # only the server's process will import it
            raise ModuleNotFoundError("The package xllamacpp is not installed.", name="xllamacpp")
        self.model = f"local:{path.stem}"
        self._server = LocalServer(
            Settings(
                path=str(path.resolve()),
                name=path.stem,
                context_window=context_window,
                threads=threads or max(1, (os.cpu_count() or 1) - 1),
                gpu_layers=gpu_layers,
            ),
            load_timeout=load_timeout,
        )
        self._info = ModelInfo(context_window, _FREE, native_output=True)
        self._connect = partial(
            OpenAIChatClient,
            path.stem,
            prices={path.stem: _FREE},
            timeouts=timeouts,
            max_tokens=max_tokens,
            extra=extra,
        )
        self._client: OpenAIChatClient | None = None
        self._starting = asyncio.Lock()

    async def run(self, request: Request) -> Response:
        """Send a request and return the whole answer."""
        async with self._asking() as client:
            return await client.run(self.defaults.applied_to(request))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives; the last item is the whole ``Response``."""
        request = self.defaults.applied_to(request)
        async with self._asking() as client, open_stream(client, request) as items:
            async for item in items:
                yield item

    def model_info(self, model: str) -> ModelInfo:  # noqa: ARG002 - there is only this one
        """What is known of the model in the file."""
        return self._info

    async def aclose(self) -> None:
        """End the server; the next request starts it again."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await asyncio.to_thread(self._server.stop)

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[OpenAIChatClient]:
        """A client to ask. If its connection breaks, a server that is about to end gets the time to do so."""
        client = await self._ready()
        try:
            yield client
        except (NetworkError, StreamingError):
            await asyncio.to_thread(self._server.settle)
            raise

    async def _ready(self) -> OpenAIChatClient:
        """The client of a server that is running; one that is not, or has crashed, is started."""
        async with self._starting:
            if self._client is None or not self._server.is_running:
                if self._client is not None:
                    await self._client.aclose()
                address = await self._server.start()
                self._client = self._connect(base_url=address, api_key=self._server.key)
            return self._client


connect = LocalClient
"""What ``maverick.connect`` calls."""


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise InvalidInputError(
            f"There is no model file at {str(path)!r}. Write it as local:path/to/model.gguf.", field="model"
        )
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_MAGIC))
    except OSError as error:
        raise InvalidInputError(
            f"The model file {str(path)!r} cannot be read: {error.strerror}.", field="model", cause=error
        ) from error
    if beginning != _MAGIC:
        raise InvalidInputError(
            f"{str(path)!r} is not a GGUF file, the only kind llama.cpp reads. Download the model in that format, "
            "or convert it.",
            field="model",
        )
