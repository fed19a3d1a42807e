"""Ways to spoil a valid answer: each takes it and a source of chance, and gives back something worse."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

Events: TypeAlias = list[bytes]
EventDamage: TypeAlias = Callable[[Random, Events], Events]
ByteDamage: TypeAlias = Callable[[Random, bytes], bytes]

_ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 7, 10**30, 10**400, 1e308, float("inf"), 0.5, "", "text", "tool_use", "half \ud83d", "\x00",
    [], {}, [[]], [None], {"type": "text"}, {"message": "overloaded"},
)  # fmt: skip

_STRAY_EVENTS = (
    b": a comment\n\n",
    b"\n\n\n",
    b"retry: 10\nid: 7\n\n",
    b'event: ping\ndata: {"type": "ping"}\n\n',
    b"data\n\n",
    b"data:\ndata:\n\n",
    b"data: [DONE]\n\n",
    b"data: null\n\n",
    b"data: []\n\n",
    b"data: {}\n\n",
    b'data: "\\ud83d"\n\n',
    b'data: {"type": "hologram", "index": "x"}\n\n',
    b'data: {"type": "message_stop"}\n\n',
    b'data: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n',
    b'data: {"type": "error", "error": 5}\n\n',
    b'data: {"error": {"message": "no", "code": 429}}\n\n',
    b'data: {"choices": [{"index": 1, "delta": {"content": "other"}}]}\n\n',
    b"data: " + b"[" * 5_000 + b"\n\n",
    b'data: {"type": "content_block_delta", "index": 0, "delta": {"partial_json": "{"}}\n\n',
    b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": 5}}\n\n',
    b'data: {"type": "content_block_delta", "index": 1, "delta": {"type": "compaction_delta", "content": []}}\n\n',
    b'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "hologram_delta", "rows": [1]}}\n\n',
    b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "compaction"}}\n\n',
    b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": ["text"], "text": 3}}\n\n',
    b'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use"}}\n\n',
    b'data: {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "content": 5}}\n\n',
    b'data: {"type": "response.output_item.added", "output_index": -1, "item": null}\n\n',
    b'data: {"type": "response.output_text.delta", "output_index": 9, "content_index": 0, "delta": "x"}\n\n',
    b'data: {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": 7}\n\n',
    b'data: {"type": "response.completed", "response": {"output": "none"}}\n\n',
    b'data: {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "No."}}}\n\n',
    b'data: {"type": "error", "code": null, "message": "No.", "param": null}\n\n',
    b'data: {"type": "response.hologram", "output_index": 0}\n\n',
    b'\xef\xbb\xbfdata: {"choices": []}\n\n',
    b"data: \xff\xfe\n\n",
)  # fmt: skip


def drop(rng: Random, events: Events) -> Events:
    """Leave out one event, or several in a row."""
    start = rng.randrange(len(events))
    return events[:start] + events[start + rng.choice((1, 1, 1, 3, 10)) :]


def repeat(rng: Random, events: Events) -> Events:
    """Send one event again, at once or later."""
    again = rng.randrange(len(events))
    later = rng.randrange(again, len(events)) + 1
    return [*events[:later], events[again], *events[later:]]


def swap(rng: Random, events: Events) -> Events:
    """Let two events change places."""
    one, other = rng.randrange(len(events)), rng.randrange(len(events))
    events = list(events)
    events[one], events[other] = events[other], events[one]
    return events


def shuffle(rng: Random, events: Events) -> Events:
    """Send some events in any order."""
    start = rng.randrange(len(events))
    some = events[start : start + 6]
    rng.shuffle(some)
    return events[:start] + some + events[start + 6 :]


def stray(rng: Random, events: Events) -> Events:
    """Put in an event that does not belong there."""
    place = rng.randrange(len(events) + 1)
    return [*events[:place], rng.choice(_STRAY_EVENTS), *events[place:]]


def change(rng: Random, events: Events) -> Events:
    """Change a value in the JSON of one event."""
    place = rng.randrange(len(events))
    head, separator, data = events[place].partition(b"data: ")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):  # it was spoilt before, or is the end of a stream
        return events
    return [*events[:place], head + separator + changed_json(rng, value) + b"\n\n", *events[place + 1 :]]


def cut(rng: Random, stream: bytes) -> bytes:
    """Break off anywhere."""
    return stream[: rng.randrange(len(stream) + 1)]


def flip(rng: Random, stream: bytes) -> bytes:
    """Change one byte."""
    place = rng.randrange(len(stream) + 1)
    return stream[:place] + bytes([rng.randrange(256)]) + stream[place + 1 :]


def garble(rng: Random, stream: bytes) -> bytes:
    """Put some bytes in the place of others."""
    place = rng.randrange(len(stream) + 1)
    noise = rng.randbytes(rng.choice((0, 1, 8)))
    return stream[:place] + noise + stream[place + rng.choice((0, 1, 5, 50)) :]


EVENT_DAMAGE: Sequence[EventDamage] = (drop, repeat, swap, shuffle, stray, stray, change, change, change)
BYTE_DAMAGE: Sequence[ByteDamage] = (cut, cut, flip, garble)

_NEWLINES: Mapping[bytes, int] = {b"\n": 8, b"\r\n": 1, b"\r": 1}


def with_other_newlines(rng: Random, stream: bytes) -> bytes:
    """The same stream with one of the three line ends the standard knows; no damage at all."""
    (newline,) = rng.choices(list(_NEWLINES), list(_NEWLINES.values()))
    return stream if newline == b"\n" else stream.replace(b"\n", newline)


def sliced(rng: Random, stream: bytes) -> list[bytes]:
    """The stream in the pieces in which it arrives: all at once, byte by byte, or cut anywhere."""
    way = rng.random()
    if way < 0.3 or not stream:
        return [stream] if stream else []
    if way < 0.35:
        return [stream[index : index + 1] for index in range(len(stream))]
    cuts = sorted({rng.randrange(len(stream)) for _ in range(rng.choice((1, 2, 5, 20)))} - {0})
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


def changed_json(rng: Random, value: Any) -> bytes:
    """The JSON of a value with something in it changed."""
    return json.dumps(_changed(rng, value)).encode()


def _changed(rng: Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        rest = {name: kept for name, kept in value.items() if name != key}
        match rng.randrange(10):
            case 0:
                return rest
            case 1:
                return {**rest, f"{key}_": value[key]}
        return {**value, key: _changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        return [*value[:place], _changed(rng, value[place]), *value[place + 1 :]]
    return rng.choice(_ODD_VALUES)
