"""A request and its answer as JSON values, with the secrets taken out.

Requests are only ever compared, so they go one way. Answers come back as what the client gave.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from maverick import exceptions
from maverick.exceptions import AgentError, ErrorKind, InvalidInputError, StreamingError
from maverick.model import (
    History,
    Message,
    Part,
    Request,
    Response,
    StopReason,
    Text,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from maverick.model.request import DEFAULT_CONFIG
from maverick.model.response import NO_USAGE
from maverick.providers.cassette.redaction import redact, redact_text
from maverick.providers.client import deltas_of

Json: TypeAlias = dict[str, Any]
Delta: TypeAlias = tuple[Literal["text", "thinking"], str]

_WRITTEN_MESSAGES = object()  # the key of our own form of the messages of a history


def request_to_json(request: Request) -> Json:
    """Everything a request asks, without what is as usual; the messages come last."""
    value: Json = {}
    if request.system:
        value["system"] = redact_text(request.system)
    if request.config != DEFAULT_CONFIG:
        value["config"] = _plain(request.config)
    if request.tools:
        value["tools"] = [
            {
                "name": tool.name,
                "description": redact_text(tool.description),
                "parameters": redact(_plain(tool.parameters), by_name=False),
            }
            for tool in request.tools
        ]
    if request.output is not None:
        value["output"] = redact(_plain(request.output), by_name=False)
    value["messages"] = _messages_to_json(request.messages)
    return value


class WrittenResponse(Struct, frozen=True, omit_defaults=True):
    """A response as it is written; a plain text is written as such."""

    stop_reason: StopReason
    content: str | list[Part] = ""
    usage: Usage = NO_USAGE
    model: str = ""
    request_id: str = ""


class WrittenError(Struct, frozen=True, omit_defaults=True):
    """An error as it is written: its class, its words, and the fields a caller branches on."""

    type: str
    message: str
    kind: ErrorKind
    retryable: bool
    details: dict[str, str | int | float] = {}


class Answer(Struct, frozen=True, omit_defaults=True):
    """How a request was answered: with a response, with an error, or with a stream that nobody read on."""

    response: WrittenResponse | None = None
    error: WrittenError | None = None
    deltas: list[Delta] | None = None
    """What was streamed before; ``None`` when the answer came in one piece."""

    @classmethod
    def of(cls, outcome: Response | AgentError | None, deltas: Iterable[Delta] | None = None) -> Answer:
        """Write an answer down, without its secrets."""
        plain = _plain(
            cls(
                response=_write_response(outcome) if isinstance(outcome, Response) else None,
                error=_write_error(outcome) if isinstance(outcome, AgentError) else None,
                deltas=None if deltas is None else list(_without_secrets(deltas)),
            )
        )
        return msgspec.convert(redact(plain), cls)

    def stream(self) -> Iterator[TextDelta | ThinkingDelta]:
        """What a stream of this answer yields before its end."""
        if self.deltas is not None:
            for kind, text in self.deltas:
                yield TextDelta(text) if kind == "text" else ThinkingDelta(text)
        elif self.response is not None:
            yield from deltas_of(self.outcome())

    def outcome(self) -> Response:
        """The response that was recorded.

        Raises:
            AgentError: The error that was recorded.
        """
        if self.response is not None:
            return _read_response(self.response)
        if self.error is not None:
            raise _read_error(self.error)
        raise StreamingError(
            "The recording of this answer stops here, because nobody read it on when it was made. "
            "Stop at the same place, or record it again.",
            retryable=False,
        )


def delta_to_json(delta: TextDelta | ThinkingDelta) -> Delta:
    """A piece of a stream as it is written."""
    return ("text" if isinstance(delta, TextDelta) else "thinking", delta.text)


def _messages_to_json(messages: Sequence[Message]) -> list[Json]:
    if not isinstance(messages, History):
        return [_message_to_json(message) for message in messages]
    written: list[Json] = messages.derived.setdefault(_WRITTEN_MESSAGES, [])
    written.extend(_message_to_json(message) for message in messages[len(written) :])
    return written[: len(messages)]


def _message_to_json(message: Message) -> Json:
    value: Json = {"role": message.role.value}
    if message.tool_call_id is not None:
        value["tool_call_id"] = message.tool_call_id
    if message.is_error:
        value["is_error"] = True
    value["content"] = redact(_plain(_short(message.parts)))
    return value


def _short(parts: tuple[Part, ...]) -> str | list[Part]:
    """The parts, or the text when that is all there is."""
    match parts:
        case (Text(text=text),) if text:
            return text
    return list(parts)


def _write_response(response: Response) -> WrittenResponse:
    return WrittenResponse(
        response.stop_reason, _short(response.parts), response.usage, response.model, response.request_id
    )


def _read_response(written: WrittenResponse) -> Response:
    return Response(
        written.content,
        usage=written.usage,
        stop_reason=written.stop_reason,
        model=written.model,
        request_id=written.request_id,
    )


def _write_error(error: AgentError) -> WrittenError:
    # An error class of another package is written as the nearest one of ours, which is there on replay too.
    named = next(cls for cls in type(error).__mro__ if cls.__module__ == exceptions.__name__)
    details = {
        name: value
        for name, value in vars(error).items()
        if name not in ("message", "kind", "retryable") and isinstance(value, str | int | float)
    }
    return WrittenError(named.__name__, error.message, error.kind, error.retryable, details)


def _read_error(written: WrittenError) -> AgentError:
    named = getattr(exceptions, written.type, None)
    error_class = named if isinstance(named, type) and issubclass(named, AgentError) else AgentError
    error = error_class(written.message, kind=written.kind, retryable=written.retryable)
    for name in written.details.keys() & vars(error).keys():
        setattr(error, name, written.details[name])
    return error


def _without_secrets(deltas: Iterable[Delta]) -> Iterator[Delta]:
    """The deltas, those of one kind in a row joined where a secret would otherwise be cut in two."""
    for kind, run in groupby(deltas, key=itemgetter(0)):
        pieces = list(run)
        whole = "".join(text for _, text in pieces)
        clean = redact_text(whole)
        if clean == whole:
            yield from pieces
        else:
            yield (kind, clean)


def _plain(value: object) -> object:
    """The value as JSON knows it."""
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain_mapping)
    except TypeError as error:
        raise InvalidInputError(f"A cassette can only hold what JSON can: {error}.") from error


def _plain_mapping(value: object) -> Json:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be written")
