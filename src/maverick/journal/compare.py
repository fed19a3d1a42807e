"""Where two runs diverge: the first entry in which they differ, apart from times and ids."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from itertools import zip_longest
from typing import Any

from msgspec import UNSET, Struct

from maverick.journal.codec import to_plain
from maverick.journal.records import StoredEntry
from maverick.journal.store import Journal
from maverick.loop.entries import ToolFinished

_TIMES_AND_IDS = ("at", "duration_ms", "run_id", "trace_id", "parent", "user_id", "worker")


class Divergence(Struct, frozen=True):
    """The first difference of two runs."""

    number: int
    """The number of the entry."""
    path: str
    """Where in the entry, such as ``response.parts[0].text``; nothing if one of the runs has no such entry."""
    one: Any
    """What the one run has there; ``UNSET`` if it has nothing."""
    other: Any
    """What the other run has there; ``UNSET`` if it has nothing."""


async def compare_runs(
    journal: Journal, one: str, other: str, *, other_journal: Journal | None = None
) -> Divergence | None:
    """The first difference of two runs, or ``None`` if they are the same.

    Tool calls that ran in parallel are compared call by call, whatever order they finished in. Both runs are in the same
    journal, unless there is another one.
    """
    async with (
        aclosing(_in_order(journal, one)) as ours,
        aclosing(_in_order(other_journal or journal, other)) as theirs,
    ):
        async for number, left in ours:
            their = await anext(theirs, None)
            found = first_difference(left, UNSET if their is None else their[1])
            if found is not None:
                return Divergence(number, *found)
        async for number, right in theirs:
            return Divergence(number, "", UNSET, right)
    return None


def first_difference(one: object, other: object, path: str = "") -> tuple[str, Any, Any] | None:
    """Where two JSON values first differ, and what each has there."""
    if type(one) is type(other):
        if isinstance(one, dict | list | tuple):
            pairs = (
                first_difference(left, right, f"{path}{step}")
                for step, left, right in _pairs_inside(one, other)
            )
            return next(filter(None, pairs), None)
        if one == other:
            return None
    return path.removeprefix("."), one, other


def _pairs_inside(one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:  # noqa: ANN401 - JSON of any shape
    if isinstance(one, dict):
        for key in one | other:
            yield f".{key}", one.get(key, UNSET), other.get(key, UNSET)
    else:
        for index, (left, right) in enumerate(zip_longest(one, other, fillvalue=UNSET)):
            yield f"[{index}]", left, right


async def _in_order(journal: Journal, run_id: str) -> AsyncGenerator[tuple[int, dict[str, Any]], None]:
    """The entries of a run as plain values, the results of one turn's tools in the order of its calls."""
    results: list[StoredEntry] = []
    async for stored in journal.read(run_id):
        if isinstance(stored.entry, ToolFinished):
            results.append(stored)
            continue
        for result in _by_call(results):
            yield result
        results.clear()
        yield stored.seq, _timeless(to_plain(stored.entry))
    for result in _by_call(results):
        yield result


def _by_call(results: list[StoredEntry]) -> Iterator[tuple[int, dict[str, Any]]]:
    plain = [_timeless(to_plain(stored.entry)) for stored in results]
    plain.sort(key=lambda entry: entry["index"])
    yield from zip((stored.seq for stored in results), plain, strict=True)


def _timeless(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without the times and ids that no two runs share."""
    for name in _TIMES_AND_IDS:
        entry.pop(name, None)
    entry.get("limits", {}).pop("seconds", None)  # of a subagent, the time its caller had left
    answer = entry.get("response", {})
    answer.pop("request_id", None)
    entry.get("error", {}).get("details", {}).pop("request_id", None)
    for message in (answer, *entry.get("messages", ())):
        message.pop("tool_call_id", None)
        for part in message.get("parts", ()):
            if part["type"] == "tool_call":
                del part["id"]
    return entry
