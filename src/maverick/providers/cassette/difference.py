"""Where two JSON values differ first, in words a person can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from msgspec import Struct

from maverick.providers.cassette.tape import canonical

_LONGEST = 160  # characters of a value that are shown
_BEFORE = 40  # of them, how many stand before the place where two texts part

_NOTHING = object()


class Difference(Struct, frozen=True):
    """A place, such as ``messages[2].content``, and what is there in each of two values."""

    path: str
    recorded: str
    asked: str


def first_difference(recorded: object, asked: object, path: str = "") -> Difference | None:
    """The first place where the two values are not the same, or ``None`` if there is no such place."""
    if _same(recorded, asked):
        return None
    for step, left, right in _pairs_inside(recorded, asked):
        found = first_difference(left, right, path + step)
        if found is not None:
            return found
    if isinstance(recorded, str) and isinstance(asked, str):
        start = max(_shared_length(recorded, asked) - _BEFORE, 0)
        return Difference(path.lstrip("."), _excerpt(recorded, start), _excerpt(asked, start))
    return Difference(path.lstrip("."), _shown(recorded), _shown(asked))


def closeness(recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[int, int, int]:
    """How near a recorded request is to the one asked: the greater, the nearer.

    What counts first is how far the conversations go together, then how much of the rest is the same, then how
    little their lengths differ.
    """
    theirs, ours = recorded["messages"], asked["messages"]
    others = (recorded.keys() | asked.keys()) - {"messages"}
    different = sum(recorded.get(name) != asked.get(name) for name in others)
    return _shared_length(theirs, ours), -different, -abs(len(theirs) - len(ours))


def _same(recorded: object, asked: object) -> bool:
    if recorded is _NOTHING or asked is _NOTHING:
        return False
    return canonical(recorded) == canonical(asked)  # which tells 1 from True, as == does not


def _pairs_inside(recorded: object, asked: object) -> Iterator[tuple[str, object, object]]:
    match recorded, asked:
        case dict(), dict():
            for key in recorded | asked:
                yield f".{key}", recorded.get(key, _NOTHING), asked.get(key, _NOTHING)
        case list(), list():
            for index, (left, right) in enumerate(zip_longest(recorded, asked, fillvalue=_NOTHING)):
                yield f"[{index}]", left, right


def _shared_length(left: Sequence[object], right: Sequence[object]) -> int:
    """How many items the two have in common before they part."""
    for position, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return position
    return min(len(left), len(right))


def _excerpt(text: str, start: int) -> str:
    end = start + _LONGEST
    return f"{'…' if start else ''}{text[start:end]!r}{'…' if end < len(text) else ''}"


def _shown(value: object) -> str:
    if value is _NOTHING:
        return "nothing"
    whole = repr(value)
    return whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST]}…"
