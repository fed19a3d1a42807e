"""One example of a fuzzer's: an answer that was damaged in some ways, and how it reached the client."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from fuzz import damage
from fuzz.codec import CODECS, Codec, Sample
from fuzz.prepared import Answer
from maverick.exceptions import NetworkError, TimeoutError

_STATUSES = (204, 301, 400, 401, 404, 413, 429, 500, 529, 599)
_WAITS = ("", "1", "-5", "nan", "1e400", "soon", "Fri, 31 Dec 2100 23:59:59 GMT", "Fri, 99 Foo")
_TYPES = ("", "text/html", "application/json", "text/event-stream; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Example:
    """A client, what it gets, and what was done to it on the way."""

    codec: Codec
    sample: Sample
    answer: Answer
    streamed: bool
    damages: tuple[str, ...] = ()
    """The names of what was done to the answer; slices and line ends do not count."""

    def __str__(self) -> str:
        way = "streamed" if self.streamed else "whole"
        sent = b"".join(self.answer.chunks)
        return (
            f"{self.codec.name}, {way}, status {self.answer.status}, damaged by {self.damages or 'nothing'}, "
            f"ends with {self.answer.breaks_with!r}, in {len(self.answer.chunks)} pieces: {sent!r}"
        )


def undamaged(codec: Codec, sample: Sample, *, streamed: bool) -> Example:
    """The answer as the service sent it, in one piece."""
    whole = b"".join(sample.events) if streamed else sample.body
    return Example(codec, sample, Answer([whole], headers=_headers(codec, streamed=streamed)), streamed)


def stream_of(
    codec: Codec, sample: Sample, chunks: Sequence[bytes], *, damages: tuple[str, ...] = ()
) -> Example:
    """A stream in these pieces."""
    answer = Answer(chunks, headers=_headers(codec, streamed=True))
    return Example(codec, sample, answer, streamed=True, damages=damages)


def make_example(rng: Random) -> Example:
    """An example; the same chance makes the same one."""
    codec = rng.choice(CODECS)
    sample = codec.sample(rng)
    way = rng.random()
    if way < 0.8:
        return _stream(rng, codec, sample)
    return _body(rng, codec, sample) if way < 0.95 else _refusal(rng, codec, sample)


def _stream(rng: Random, codec: Codec, sample: Sample) -> Example:
    events = list(sample.events)
    damages: list[str] = []
    for spoil in rng.choices(damage.EVENT_DAMAGE, k=rng.choice((0, 0, 1, 1, 2, 4))):
        events = spoil(rng, events) if events else events
        damages.append(spoil.__name__)
    stream = damage.with_other_newlines(rng, b"".join(events))
    for harm in rng.choices(damage.BYTE_DAMAGE, k=rng.choice((0, 0, 0, 1, 2))):
        stream = harm(rng, stream)
        damages.append(harm.__name__)
    answer = Answer(
        damage.sliced(rng, stream),
        headers=_headers(codec, streamed=True),
        breaks_with=rng.choice(
            (None, None, None, None, NetworkError("The line broke."), TimeoutError("Too late."))
        ),
    )
    return Example(codec, sample, answer, streamed=True, damages=tuple(damages))


def _body(rng: Random, codec: Codec, sample: Sample) -> Example:
    body, damages = sample.body, []
    for _ in range(rng.choice((0, 1, 1, 3))):
        body = damage.changed_json(rng, json.loads(body))
        damages.append("change")
    for harm in rng.choices(damage.BYTE_DAMAGE, k=rng.choice((0, 0, 1))):
        body = harm(rng, body)
        damages.append(harm.__name__)
    answer = Answer(damage.sliced(rng, body), headers=_headers(codec, streamed=False))
    return Example(codec, sample, answer, streamed=False, damages=tuple(damages))


def _refusal(rng: Random, codec: Codec, sample: Sample) -> Example:
    error = json.dumps({"error": {"type": "some_error", "message": "No.", "code": "why"}, "request_id": "r"})
    body = damage.changed_json(rng, json.loads(rng.choice((error, sample.body.decode()))))
    if rng.random() < 0.5:
        body = damage.garble(rng, body)
    headers = {"content-type": rng.choice(_TYPES), "retry-after": rng.choice(_WAITS)}
    answer = Answer(damage.sliced(rng, body), rng.choice(_STATUSES), headers)
    return Example(codec, sample, answer, streamed=rng.random() < 0.5, damages=("refusal",))


def _headers(codec: Codec, *, streamed: bool) -> dict[str, str]:
    return {**codec.headers, "content-type": "text/event-stream" if streamed else "application/json"}
