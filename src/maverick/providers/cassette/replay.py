"""A client that answers from a recording and never goes live."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from maverick.exceptions import CassetteMissError, InvalidInputError
from maverick.model import ModelInfo, Request, Response, StreamItem
from maverick.model.client import UNKNOWN_MODEL
from maverick.providers.cassette.difference import closeness, first_difference
from maverick.providers.cassette.exchange import Answer, Json, request_to_json
from maverick.providers.cassette.tape import Exchange, canonical, keys_of, read_tape
from maverick.providers.client import Client


class CassetteClient(Client):
    """Answers each request as it was answered when the cassette was recorded.

    A request is known by its content, secrets aside. Where the same request was recorded several times, its
    answers come in the order they were recorded, each once. An answer recorded by ``run`` can be streamed, and the
    other way round. A request that was not recorded is an error.

    Args:
        path: The file a :class:`RecordingClient` has written.

    Raises:
        InvalidInputError: There is no such file, or it is no cassette.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        tape = read_tape(self._path)
        self._exchanges = tape.exchanges
        self._models = tape.models
        self.model = next(iter(tape.models)) if len(tape.models) == 1 else ""
        self._unplayed: dict[str, deque[Answer]] = {}
        for exchange in tape.exchanges:
            self._unplayed.setdefault(exchange.key, deque()).append(exchange.answer)

    async def run(self, request: Request) -> Response:
        """Return the recorded answer, or raise the recorded error."""
        return self._next_answer(request).outcome()

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Yield the recorded deltas, then the recorded answer, or raise the recorded error."""
        answer = self._next_answer(request)
        for delta in answer.stream():
            yield delta
        yield answer.outcome()

    def model_info(self, model: str) -> ModelInfo:
        """What the recorded client said of a model."""
        return self._models.get(model, UNKNOWN_MODEL)

    def _next_answer(self, request: Request) -> Answer:
        asked = request_to_json(request)
        for known in (asked, *self._filled_in(asked)):
            if answers := self._unplayed.get(keys_of(known)[-1]):
                return answers.popleft()
        raise self._miss(asked)

    def _filled_in(self, asked: Json) -> Iterator[Json]:
        """The request with the settings it leaves open as they were when the cassette was recorded."""
        said = asked.get("config", {})
        recorded = {canonical(config): config for e in self._exchanges if (config := e.request.get("config"))}
        for config in recorded.values():
            if said != config and said.items() <= config.items():
                yield {**asked, "config": config}

    def _miss(self, asked: Json) -> CassetteMissError:
        refused = f"The cassette {self._path} has no answer to this request, and a cassette never goes live."
        advice = "Undo the change, or record the run again."
        if not self._exchanges:
            return CassetteMissError(f"{refused} It holds no requests at all. {advice}")
        nearest = max(self._exchanges, key=lambda exchange: closeness(exchange.request, asked))
        difference = first_difference(nearest.request, asked)
        if difference is None:
            return CassetteMissError(
                f"{refused} It was recorded {self._times_recorded(nearest)} and has been asked once more than that. "
                f"{advice}",
                line=nearest.line,
            )
        return CassetteMissError(
            f"{refused} The nearest recorded request is on line {nearest.line}; they differ first at "
            f"{difference.path}: recorded {difference.recorded}, asked {difference.asked}. {advice}",
            line=nearest.line,
            difference=difference,
        )

    def _times_recorded(self, exchange: Exchange) -> str:
        times = sum(other.key == exchange.key for other in self._exchanges)
        return "once" if times == 1 else f"{times} times"


def connect(model: str) -> CassetteClient:
    """Open a cassette for replay; ``model`` is its path."""
    if not model:
        raise InvalidInputError("Say which file to replay, as in 'cassette:run.json'.", field="model")
    return CassetteClient(Path(model).expanduser())
