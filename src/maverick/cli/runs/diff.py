"""``maverick runs diff``: where two runs differ."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from msgspec import UNSET

from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.formatting import fitted
from maverick.cli.runs.console import Console
from maverick.cli.screen import printable
from maverick.journal.compare import Divergence, compare_runs

_SHOWN_BEFORE = 20
"""How many characters that are still the same are shown before those that are not."""


async def show_difference(console: Console, *, run_id: str, other_id: str) -> int:
    """Say in what two runs first differ, times and ids aside.

    Returns:
        The exit code: 0 when they are the same, 1 when they are not.

    Raises:
        RunNotFoundError: There is no such run.
    """
    found = await compare_runs(console.journal, run_id, other_id)
    if console.as_json:
        console.write({"same": True} if found is None else _fields(found))
    elif found is None:
        console.say([printable(f"{run_id} and {other_id} are the same, ignoring times and ids.")])
    else:
        _show(console, found, run_id, other_id)
    return SUCCESS if found is None else FAILURE


def _show(console: Console, found: Divergence, run_id: str, other_id: str) -> None:
    where = f"entry {found.number}, {found.path}" if found.path else f"entry {found.number}"
    width = max(len(run_id), len(other_id))
    one, other = _around_the_difference(found.one, found.other)
    lines = (f"They differ at {where}:", f"  {run_id:<{width}}  {one}", f"  {other_id:<{width}}  {other}")
    console.say(fitted(printable(line), console.width) for line in lines)


def _around_the_difference(one: Any, other: Any) -> tuple[str, str]:  # noqa: ANN401 - JSON of any shape
    """Both values in words; of two texts, what comes from shortly before the place where they differ."""
    if not (isinstance(one, str) and isinstance(other, str)):
        return _words(one), _words(other)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    start = same - _SHOWN_BEFORE
    if start <= 0:
        return repr(one), repr(other)
    return f"…{one[start:]!r}", f"…{other[start:]!r}"


def _words(value: Any) -> str:  # noqa: ANN401 - JSON of any shape
    return "(nothing)" if value is UNSET else repr(value)


def _fields(found: Divergence) -> dict[str, Any]:
    values = {"one": found.one, "other": found.other}
    there = {name: value for name, value in values.items() if value is not UNSET}
    return {"same": False, "number": found.number, "path": found.path, **there}
