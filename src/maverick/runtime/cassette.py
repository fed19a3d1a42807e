"""Record what a client is asked and answers, and play it back without a network.

Record with ``RecordingClient(client, "run.json")``; play back with ``connect("cassette:run.json")``. The file is a
journal export (``maverick.journal.recording``). These clients are here because they need the journal and the
providers, which do not know each other.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

from maverick.exceptions import AgentError, CassetteMissError, InvalidInputError, StreamingError
from maverick.journal.export import read_recording
from maverick.journal.playback import Delta, Json, Playback, RecordedExchange, plain_request
from maverick.journal.recording import Existing, RecordingWriter
from maverick.misuse import refuse
from maverick.model import LLMClient, ModelInfo, Request, Response, StreamItem, TextDelta, ThinkingDelta
from maverick.model.client import UNKNOWN_MODEL
from maverick.model.message import Opaque
from maverick.providers.catalog import connect as connect_live
from maverick.providers.client import Client, ClientWrapper, deltas_of, open_stream


class CassetteClient(Client):
    """Answers each request as it was answered when it was recorded, and never goes live.

    A request is identified by its system prompt, messages, tools and output, without secrets. Each answer is given
    once, those of a run in their order; runs may be played in any order. An answer recorded by ``run`` can be
    streamed, and the other way round.

    Args:
        path: What a :class:`RecordingClient` has written, or ``maverick runs export`` has printed.

    Raises:
        InvalidInputError: There is no such file, or it is no recording.
    """

    def __init__(self, path: str | Path) -> None:
        recording = read_recording(Path(path))
        self._playback = Playback(f"The cassette {path}", recording.runs)
        self._models = recording.models
        self.model = next(iter(recording.models)) if len(recording.models) == 1 else ""

    async def run(self, request: Request) -> Response:
        """Return the recorded answer, or raise the recorded error, or a CassetteMissError if there is neither."""
        return _outcome(self._playback.next(plain_request(request)))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Yield the recorded deltas, then the recorded answer, or raise as :meth:`run` does."""
        for item in _replayed(self._playback.next(plain_request(request))):
            yield item

    def model_info(self, model: str) -> ModelInfo:
        """What the recorded client knew of a model."""
        unnamed = self._models.get("", UNKNOWN_MODEL)  # of requests that left the model to the client
        return self._models.get(model, unnamed)


class RecordingClient(ClientWrapper):
    """Passes requests on, and writes them and their answers to a file, errors included.

    Keys, tokens and passwords are removed before anything is written.

    Args:
        client: The client to record.
        path: The file to write.
        existing: What to do if there is such a file. With ``reuse``, a request that is in it is answered from it, and
            only the others are passed on and recorded.

    Raises:
        InvalidInputError: There is such a file, or it cannot be written.
    """

    def __init__(self, client: LLMClient, path: str | Path, *, existing: Existing = "refuse") -> None:
        super().__init__(client)
        if existing not in ("refuse", "append", "replace", "reuse"):
            refuse("existing", f"expected 'refuse', 'append', 'replace' or 'reuse', got {existing!r}.")
        path = Path(path)
        self._known = None
        if existing == "reuse" and path.exists():
            self._known = Playback(f"The cassette {path}", read_recording(path).runs)
        self._writer = RecordingWriter(path, existing)

    async def run(self, request: Request) -> Response:
        """Send a request, and record it and its answer."""
        asked = plain_request(request)
        if (known := self._find(asked)) is not None:
            return _outcome(known)
        info = self.model_info(request.config.model)
        try:
            response = await self._client.run(request)
        except AgentError as error:
            self._writer.add(request, asked, info, error)
            raise
        self._writer.add(request, asked, info, response)
        return response

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Send a request and yield its answer as it arrives, and record both."""
        asked = plain_request(request)
        if (known := self._find(asked)) is not None:
            for item in _replayed(known):
                yield item
            return
        deltas: list[Delta] = []
        info = self.model_info(request.config.model)
        recorded = False
        try:
            async with open_stream(self._client, request) as items:
                async for item in items:
                    if isinstance(item, Response):
                        recorded = True
                        self._writer.add(request, asked, info, item, deltas)
                    elif isinstance(item, Opaque):
                        deltas.append(("block", item))
                    else:
                        deltas.append(("text" if isinstance(item, TextDelta) else "thinking", item.text))
                    yield item
        except AgentError as error:
            if not recorded:
                recorded = True
                self._writer.add(request, asked, info, error, deltas)
            raise
        finally:
            if not recorded and deltas:
                self._writer.add(request, asked, info, None, deltas)

    def _find(self, asked: Json) -> RecordedExchange | None:
        """What the file had for a request, if that is wanted."""
        if self._known is not None:
            with suppress(CassetteMissError):
                return self._known.next(asked)
        return None


def connect(model: str, live: str | None = None) -> Client:
    """Open a recording; ``model`` is its path.

    Args:
        model: The path.
        live: The ``provider:model`` to ask for what the recording does not have; its answers are added. By default, a
            request that was not recorded is an error.
    """
    if not model:
        raise InvalidInputError("Name the file to play back, as in 'cassette:run.json'.", field="model")
    path = Path(model).expanduser()
    if live is not None:
        return RecordingClient(connect_live(live), path, existing="reuse")
    return CassetteClient(path)


def _replayed(exchange: RecordedExchange) -> Iterator[StreamItem]:
    """What a stream of a recorded answer yields; it may end with the error that was recorded."""
    if exchange.deltas is not None:
        for kind, piece in exchange.deltas:
            if isinstance(piece, Opaque):
                yield piece
            else:
                yield TextDelta(piece) if kind == "text" else ThinkingDelta(piece)
    elif isinstance(exchange.answer, Response):
        yield from deltas_of(exchange.answer)
    yield _outcome(exchange)


def _outcome(exchange: RecordedExchange) -> Response:
    """The response that was recorded, or else the error."""
    if isinstance(exchange.answer, AgentError):
        raise exchange.answer
    if exchange.answer is None:
        raise StreamingError(
            "The recording of this answer stops here, because its caller stopped reading it. "
            "Stop at the same place, or record it again.",
            retryable=False,
        )
    return exchange.answer
