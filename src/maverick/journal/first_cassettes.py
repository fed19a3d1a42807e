"""Cassettes as 0.1.0 wrote them: one line an exchange, which names an earlier one it continues."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from maverick.exceptions import AgentError, InvalidInputError
from maverick.journal.codec import decode_error
from maverick.journal.export import Delta
from maverick.journal.playback import Exchange, Json
from maverick.model import ModelInfo, Part, Response, StopReason, Usage
from maverick.model.response import NO_USAGE

_VERSION = 1


class _Response(Struct, frozen=True):
    stop_reason: StopReason
    content: str | list[Part] = ""
    usage: Usage = NO_USAGE
    model: str = ""
    request_id: str = ""


class _Answer(Struct, frozen=True):
    response: _Response | None = None
    error: dict[str, Any] | None = None
    deltas: list[Delta] | None = None


class FirstCassette:
    """Reads the lines of a cassette of the first form.

    Args:
        models: Where to put what the recorded client knew of its models.
    """

    def __init__(self, models: dict[str, ModelInfo]) -> None:
        self.exchanges: list[Exchange] = []
        self._models = models
        self._asked: dict[str, Json] = {}

    def take(self, number: int, line: Json) -> None:
        """Read a line.

        Raises:
            ValueError: It is none of a cassette.
        """
        match line["type"]:
            case "cassette":
                if line["version"] != _VERSION:
                    raise InvalidInputError(f"its format is version {line['version']}. Update Maverick")
            case "model":
                self._models[line["model"]] = msgspec.convert(line["info"], ModelInfo)
            case "exchange":
                self._take_exchange(number, line)
            case other:
                raise InvalidInputError(f"a cassette has no {other!r}")

    def _take_exchange(self, number: int, line: Json) -> None:
        earlier: Json = {"system": line.get("request", {}).get("system", ""), "messages": []}
        if continued := line.get("continues"):
            if continued not in self._asked:
                raise InvalidInputError(f"it continues {continued!r}, which is not above it")
            earlier = self._asked[continued]
        asked = {"system": earlier["system"], "messages": [*earlier["messages"], *line["messages"]]}
        self._asked[line["id"]] = asked
        written = msgspec.convert(line["answer"], _Answer)
        answer: Response | AgentError | None = None if written.error is None else decode_error(written.error)
        if (response := written.response) is not None:
            answer = Response(
                response.content,
                usage=response.usage,
                stop_reason=response.stop_reason,
                model=response.model,
                request_id=response.request_id,
            )
        self.exchanges.append(Exchange(number, asked, answer, written.deltas))
