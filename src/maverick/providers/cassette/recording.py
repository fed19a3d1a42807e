"""A client that writes down everything another client is asked and answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

from maverick.exceptions import AgentError
from maverick.model import LLMClient, ModelInfo, Request, Response, StreamItem
from maverick.providers.cassette.exchange import Answer, Delta, delta_to_json, request_to_json
from maverick.providers.cassette.tape import TapeWriter
from maverick.providers.client import ClientWrapper, open_stream


class RecordingClient(ClientWrapper):
    """Passes requests on and writes them and their answers to a cassette, errors included.

    Replay it with ``connect("cassette:run.json")``. Keys, tokens and passwords are taken out before anything is
    written. Each exchange is in the file before the caller has the end of its answer; what was streamed of an
    answer that the caller gave up on is written too.

    Args:
        client: The client to record.
        path: The file to write, by custom ``….json``; it holds one JSON value per line.
        existing: What to do if there is such a file.
    """

    def __init__(
        self,
        client: LLMClient,
        path: str | Path,
        *,
        existing: Literal["refuse", "append", "replace"] = "refuse",
    ) -> None:
        super().__init__(client)
        self._tape = TapeWriter(Path(path), existing)
        self._models: dict[str, ModelInfo] = {}

    async def run(self, request: Request) -> Response:
        """Send a request, and write it and its answer down."""
        asked = request_to_json(request)
        try:
            response = await self._client.run(request)
        except AgentError as error:
            self._tape.add_exchange(asked, Answer.of(error))
            raise
        self._tape.add_exchange(asked, Answer.of(response))
        return response

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives, and write both down."""
        asked = request_to_json(request)
        deltas: list[Delta] = []
        outcome: Response | AgentError | None = None
        try:
            async with open_stream(self._client, request) as items:
                async for item in items:
                    if isinstance(item, Response):
                        outcome = item
                        self._tape.add_exchange(asked, Answer.of(item, deltas))
                    else:
                        deltas.append(delta_to_json(item))
                    yield item
        except AgentError as error:
            if outcome is None:
                outcome = error
                self._tape.add_exchange(asked, Answer.of(error, deltas))
            raise
        finally:
            if outcome is None and deltas:
                self._tape.add_exchange(asked, Answer.of(None, deltas))

    def model_info(self, model: str) -> ModelInfo:
        """What the recorded client knows of a model, which is written down too."""
        info = super().model_info(model)
        if self._models.get(model) != info:
            self._models[model] = info
            self._tape.add_model(model, info)
        return info
