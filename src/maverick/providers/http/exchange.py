"""An exchange with a service: a request that was sent, and an answer that has begun. No I/O here."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from maverick.exceptions import (
    AgentError,
    MalformedResponseError,
    NetworkError,
    ServerError,
    StreamingError,
    TimeoutError,
)
from maverick.model.message import Message, Opaque, Part, Thought, ToolCall
from maverick.model.response import NO_USAGE, Response, StopReason, TextDelta, ThinkingDelta
from maverick.model.usage import Usage
from maverick.providers.http.wire_json import encode
from maverick.providers.prices import PriceTable

HIDDEN = "***"
"""What takes the place of a key."""

MAX_ARGUMENT_BYTES = 2 * 1024 * 1024
"""The most that all tool calls of an answer may have as arguments: parsed JSON takes many times its size."""

MAX_KEPT_BYTES = 32 * 1024 * 1024
"""The most that the events of a streamed answer may have whose content is kept as parsed JSON, for the same reason."""

MAX_BLOCKS = 10_000
"""The most content blocks, or tool calls, of a streamed answer."""

_EXCERPT_CHARACTERS = 300
_SHORTEST_KEY = 16
"""A shorter one is a word for servers that need no key, such as ``ollama``, and may well be part of an answer."""
_SHORTEST_SECRET = 8
"""A shorter one hides nothing, and taking it out would make an error unreadable."""

_CUT_SHORT = frozenset({StopReason.MAX_TOKENS, StopReason.CONTEXT_OVERFLOW, StopReason.REFUSAL})
"""The reasons to stop that can come in the middle of a tool call."""

Deltas: TypeAlias = tuple[TextDelta | ThinkingDelta | Opaque, ...]


class Exchange(Struct, frozen=True):
    """What is known of an answer before the first byte of its content."""

    service: str
    """What messages call the service."""
    api: str
    """What messages call the API that is expected behind ``base_url``."""
    model: str
    """The model that was asked for."""
    headers: Mapping[str, str]
    """The headers of the answer."""
    prices: PriceTable
    """What models cost."""
    secret: str = ""
    """The key, which no message may repeat."""
    others: tuple[str, ...] = ()
    """Other secrets of the request, such as the token of an MCP server, which no error may repeat."""

    def __repr__(self) -> str:  # the key is in no repr
        return f"Exchange({self.service!r}, {self.model!r})"

    @property
    def has_key(self) -> bool:
        """Whether there is a key that hides something."""
        return len(self.secret) >= _SHORTEST_KEY

    @property
    def request_id(self) -> str:
        """The service's id of the exchange, under whichever name it has; empty if it sent no id."""
        get = self.headers.get
        found = get("request-id") or get("x-request-id") or get("x-amzn-requestid") or ""
        return found.replace(self.secret, HIDDEN) if self.has_key and found else found

    @property
    def about(self) -> str:
        """The id of the exchange as the end of a message; empty if it sent no id."""
        return f" (request {self.request_id})" if self.request_id else ""

    def clean(self, data: bytes) -> bytes:
        """The bytes of an answer without the key, which a proxy or a debug page may send back."""
        return data.replace(self.secret.encode(), HIDDEN.encode()) if self.has_key else data

    def hide(self, text: str) -> str:
        """The text of an error without the key, and without pieces of it: services quote keys that they do not accept."""
        return hide_secrets(text, (self.secret, *self.others))

    def excerpt(self, body: bytes) -> str:
        """The beginning of a body as one line of text, without the key."""
        for secret in (self.secret, *self.others):
            if len(secret) >= _SHORTEST_SECRET:
                body = body.replace(secret.encode(errors="replace"), HIDDEN.encode())
        text = self.hide(" ".join(body[: 4 * _EXCERPT_CHARACTERS].decode("utf-8", "replace").split()))
        return text if len(text) <= _EXCERPT_CHARACTERS else text[:_EXCERPT_CHARACTERS] + "…"

    def malformed(self, what: str, body: bytes) -> MalformedResponseError:
        """The error for an answer that is not what the API sends, but ``what`` says."""
        return MalformedResponseError(
            f"{self.service} answered with {what}{self.about}. Try again; if it keeps happening, check that base_url "
            f"points to {self.api}, and whether a proxy or a login page is in between.",
            raw_response=self.excerpt(body),
        )

    def gave_up(self, reason: str) -> ServerError:
        """The error for an answer that the service itself ended too early."""
        return ServerError(
            f"{self.service} gave up in the middle of its answer ({reason}). Try again.{self.about}",
            request_id=self.request_id or None,
        )

    def without_key(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        """The parts without the key: :meth:`clean` cannot see one that comes in pieces, or escaped."""
        parts = tuple(parts)
        if not self.has_key or self.secret.encode() not in encode(parts):
            return parts
        plain = ((_replaced(msgspec.to_builtins(part), self.secret), type(part)) for part in parts)
        return tuple(msgspec.convert(value, kind) for value, kind in plain)

    def signed(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """The parts with the name of the model at those thoughts that only it takes back."""
        if not any(type(part) is Thought for part in parts):
            return parts
        return tuple(
            msgspec.structs.replace(part, model=self.model)
            if type(part) is Thought and (part.is_bound or part.block is not None)
            else part
            for part in parts
        )


class KeyFilter:
    """Keeps the key out of an answer as it arrives.

    The end of a text that may become the key is held back until what follows says that it does not. If the answer breaks
    off there, it is not told at all.
    """

    __slots__ = ("_held", "_kind", "_secret")

    def __init__(self, exchange: Exchange) -> None:
        self._secret = exchange.secret if exchange.has_key else ""
        self._held = ""
        self._kind: type[TextDelta | ThinkingDelta] = TextDelta

    def passed(self, deltas: Deltas) -> Deltas:
        """What can be told, now that these have arrived."""
        if not self._secret:
            return deltas
        told: list[TextDelta | ThinkingDelta | Opaque] = []
        for delta in deltas:
            if type(delta) is not self._kind:
                told += self.rest()
            if isinstance(delta, Opaque):
                told.append(delta)
                continue
            self._kind = type(delta)
            text = (self._held + delta.text).replace(self._secret, HIDDEN)
            self._held = _beginning_at_end(text, self._secret)
            if text := text[: len(text) - len(self._held)]:
                told.append(self._kind(text))
        return tuple(told)

    def rest(self) -> Deltas:
        """What was held back, now that nothing follows it."""
        held, self._held = self._held, ""
        return (self._kind(held),) if held else ()


def complete_response(
    exchange: Exchange,
    parts: Iterable[Part],
    usage: Usage | None,
    stop_reason: StopReason | None,
    model: str,
    *,
    fees_usd: float = 0.0,
) -> Response:
    """The answer, once all of it is known, without the key and with its cost.

    A missing ``stop_reason`` follows from the parts, and a missing ``model`` is the one that was asked for. ``fees_usd``
    is what the answer cost besides its tokens. A tool call without a name is an error: no service would accept it back.
    """
    parts = exchange.signed(exchange.without_key(parts))
    if any(type(part) is ToolCall and not part.tool_name for part in parts):
        raise exchange.malformed("a tool call without a name", b"")
    if stop_reason in _CUT_SHORT:
        parts = _with_last_call_malformed(parts)
    model = model or exchange.model
    if usage is None:
        usage = NO_USAGE
    elif price := exchange.prices.find(exchange.model).price or exchange.prices.find(model).price:
        usage = msgspec.structs.replace(usage, cost_usd=price.cost(usage) + fees_usd)
    return Response(parts, usage=usage, stop_reason=stop_reason, model=model, request_id=exchange.request_id)


class StreamAccumulator(ABC):
    """Puts an answer together from the events of a stream; each wire has its own."""

    __slots__ = ("_exchange", "_kept_bytes", "argument_bytes", "response")

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._kept_bytes = 0
        self.argument_bytes = 0
        """How much of the arguments of tool calls has arrived."""
        self.response: Response | None = None
        """The whole answer, once it is complete."""

    @abstractmethod
    def feed(self, data: bytes) -> Deltas:
        """Add the data of the next event; return the text and thoughts in it, or raise what it reports."""

    @abstractmethod
    def parts(self) -> Iterable[Part]:
        """What has arrived of the answer."""

    def end(self) -> None:
        """The stream has ended; unless the answer is complete, more should have come."""
        raise self._broken(f"{self._exchange.service} ended its answer before it was complete. Try again.")

    def interrupted(self, error: TimeoutError | NetworkError) -> AgentError:
        """The error to raise for one of the transport that came in the middle of the stream."""
        if isinstance(error, TimeoutError):
            return TimeoutError(f"{error}{self._exchange.about}", cause=error)
        return self._broken(str(error), error)

    def _broken(self, what: str, cause: Exception | None = None) -> StreamingError:
        """The error for a stream that broke off. It has what arrived; a call that may be cut is marked malformed."""
        parts = _with_last_call_malformed(self._exchange.without_key(self.parts()))
        partial = [Message.assistant(parts)] if parts else []
        return StreamingError(f"{what}{self._exchange.about}", partial_messages=partial, cause=cause)

    def _count_arguments(self, piece: str, data: bytes) -> None:
        """Refuse more tool arguments than any model writes."""
        self.argument_bytes += len(piece)
        if self.argument_bytes > MAX_ARGUMENT_BYTES:
            raise self._exchange.malformed(
                f"tool arguments of more than {MAX_ARGUMENT_BYTES:,} characters", data
            )

    def _count_kept(self, data: bytes) -> None:
        """Refuse more content to be kept as it came than any answer has."""
        self._kept_bytes += len(data)
        if self._kept_bytes > MAX_KEPT_BYTES:
            raise self._exchange.malformed(f"content blocks of more than {MAX_KEPT_BYTES:,} bytes", b"")

    def _check_block_count(self, count: int, data: bytes) -> None:
        """Refuse more blocks or calls than any model sends."""
        if count > MAX_BLOCKS:
            raise self._exchange.malformed(f"more than {MAX_BLOCKS:,} content blocks", data)


def _with_last_call_malformed(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of an answer that was cut short: a call at its end may lack arguments even if its JSON is valid."""
    last = parts[-1] if parts else None
    if not isinstance(last, ToolCall) or last.malformed:
        return parts
    written = encode(last.arguments).decode()
    return (*parts[:-1], msgspec.structs.replace(last, arguments={}, malformed=written))


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """The text of an error without these secrets, and without pieces of those that are as long as keys are."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, HIDDEN)
        if len(secret) >= _SHORTEST_KEY:
            text = _without_pieces(text, secret)
    return text


def _without_pieces(text: str, secret: str) -> str:
    """The text without any run of characters, as long as the shortest secret or longer, that is part of this one."""
    starts = range(len(secret) - _SHORTEST_SECRET + 1)
    pieces = {re.escape(secret[start : start + _SHORTEST_SECRET]) for start in starts}
    # Each character at which such a piece begins, and what is left of the last piece.
    run = rf"(?s:(?:(?={'|'.join(pieces)}).)+.{{{_SHORTEST_SECRET - 1}}})"
    return re.sub(run, HIDDEN, text)


def _beginning_at_end(text: str, secret: str) -> str:
    """The longest end of a text that is the beginning of the secret, but not all of it."""
    start = text.find(secret[0], max(len(text) - len(secret) + 1, 0))
    while start >= 0 and not secret.startswith(text[start:]):
        start = text.find(secret[0], start + 1)
    return text[start:] if start >= 0 else ""


def _replaced(value: Any, key: str) -> Any:  # noqa: ANN401 - any JSON
    """The value with the key hidden in all its texts."""
    if isinstance(value, str):
        return value.replace(key, HIDDEN)
    if isinstance(value, list):
        return [_replaced(item, key) for item in value]
    if isinstance(value, dict):
        return {_replaced(name, key): _replaced(item, key) for name, item in value.items()}
    return value
