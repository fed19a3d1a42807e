"""An exchange with a service: a request that was sent, and an answer that has begun. No I/O here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from maverick.exceptions import AgentError, MalformedResponseError, ProviderError
from maverick.model import Part, Price, Response, StopReason, ToolCall, Usage
from maverick.model.response import NO_USAGE
from maverick.providers.http_errors import malformed_answer, request_id_of
from maverick.providers.wire_json import encode

if TYPE_CHECKING:
    from maverick.providers.answer_stream import AnswerStream

HIDDEN = "***"
"""What stands where a key was."""

_SHORTEST_KEY = 16
"""What is shorter is a word that servers without keys are told, such as ``ollama``, and may well be in an answer."""

_CUT_SHORT = frozenset({StopReason.MAX_TOKENS, StopReason.CONTEXT_OVERFLOW, StopReason.REFUSAL})
"""The reasons to stop that can come in the middle of a tool call."""


class Exchange(ABC):
    """What is known of an answer before its first byte of content, and what its content is then read with.

    Args:
        service: What messages call the service.
        model: The model that was asked for.
        headers: The headers of the answer.
        secret: The key, which no message may repeat.
    """

    __slots__ = ("_hidden", "headers", "model", "secret", "service")

    api: ClassVar[str]
    """What messages call the API that is expected behind ``base_url``."""

    def __init__(self, service: str, model: str, headers: Mapping[str, str], *, secret: str = "") -> None:
        self.service = service
        self.model = model
        self.headers = headers
        self.secret = secret
        self._hidden = secret if len(secret) >= _SHORTEST_KEY else ""
        if self._hidden and self._hidden in request_id_of(headers):
            self.headers = {name.lower(): value.replace(secret, HIDDEN) for name, value in headers.items()}

    @property
    def request_id(self) -> str:
        """The service's id of the exchange; empty when it gave none."""
        return request_id_of(self.headers)

    @property
    def about(self) -> str:
        """The id of the exchange as the end of a message; empty when there is none."""
        return f" (request {self.request_id})" if self.request_id else ""

    def clean(self, data: bytes) -> bytes:
        """The bytes of an answer without the key, which a proxy or a debug page may send back."""
        return data.replace(self._hidden.encode(), HIDDEN.encode()) if self._hidden else data

    @abstractmethod
    def read(self, body: bytes) -> Response:
        """The answer in a body that came as a whole.

        Raises:
            MalformedResponseError: The body is something else.
            ProviderError: The body reports a failure.
        """

    @abstractmethod
    def stream(self) -> AnswerStream:
        """What puts the answer together from the events of a stream."""

    @abstractmethod
    def refused(self, status: int, body: bytes) -> ProviderError:
        """The error for an answer with an error status."""

    @abstractmethod
    def reported(self, body: bytes) -> ProviderError | None:
        """The error that an answer with a good status reports in its body or in an event, if it does."""

    @abstractmethod
    def price(self, answered: str) -> Price | None:
        """What the model costs, if that is known; the service may have answered with another than was asked for."""

    def malformed(self, what: str, body: bytes) -> MalformedResponseError:
        """The error for an answer that is not what the API sends."""
        return malformed_answer(
            self.service, self.api, what, body, request_id=self.request_id, secret=self.secret
        )

    def no_answer(self, what: str, body: bytes) -> AgentError:
        """The error for a body without an answer: the failure that it reports, or else what it is."""
        return self.reported(body) or self.malformed(what, body)

    def without_secret(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """The parts without the key: :meth:`clean` cannot see one that comes in pieces, or escaped."""
        parts = tuple(parts)
        secret = self._hidden
        if not secret or not any(secret in _all_text(part) for part in parts):
            return parts
        return tuple(
            msgspec.convert(_replaced(msgspec.to_builtins(part), secret), type(part)) for part in parts
        )

    def response(
        self, parts: Iterable[Part], counts: Usage | None, stop_reason: StopReason | None, model: str
    ) -> Response:
        """The answer, once all of it is known.

        Args:
            parts: What the model said.
            counts: How many tokens that took, if the service told.
            stop_reason: Why it stopped; ``None`` where the parts say it themselves.
            model: The model that answered; the one that was asked for if this is empty.

        Raises:
            MalformedResponseError: It calls a tool without a name, which no service would take back.
        """
        parts = self.without_secret(parts)
        if any(type(part) is ToolCall and not part.tool_name for part in parts):
            raise self.malformed("a call of a tool that has no name", b"")
        if stop_reason in _CUT_SHORT:
            parts = without_a_half_call(parts)
        model = model or self.model
        return Response(
            parts,
            usage=NO_USAGE if counts is None else _with_cost(counts, self.price(model)),
            stop_reason=stop_reason,
            model=model,
            request_id=self.request_id,
        )


def _all_text(part: Part) -> str:
    if isinstance(part, ToolCall):
        return f"{part.id}{part.tool_name}{part.malformed}{encode(part.arguments).decode()}"
    return part.text


def _replaced(value: Any, secret: str) -> Any:  # noqa: ANN401 - any JSON
    """The value with the secret hidden in all its texts."""
    if isinstance(value, str):
        return value.replace(secret, HIDDEN)
    if isinstance(value, list):
        return [_replaced(item, secret) for item in value]
    if isinstance(value, dict):
        return {_replaced(name, secret): _replaced(item, secret) for name, item in value.items()}
    return value


def without_a_half_call(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of an answer that was cut short: a call at its end may lack arguments even if its JSON is valid."""
    last = parts[-1] if parts else None
    if not isinstance(last, ToolCall) or last.malformed:
        return parts
    return (*parts[:-1], ToolCall(last.id, last.tool_name, malformed=encode(last.arguments).decode()))


def _with_cost(counts: Usage, price: Price | None) -> Usage:
    return counts if price is None else msgspec.structs.replace(counts, cost_usd=price.cost(counts))
