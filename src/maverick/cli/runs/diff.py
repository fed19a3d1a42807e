"""``maverick runs diff``: where two runs differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile, zip_longest
from typing import Any

from msgspec import UNSET

from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.formatting import Column, fitted, money
from maverick.cli.runs.console import Console
from maverick.cli.runs.list import reason_of
from maverick.cli.runs.show import Story, read_story
from maverick.cli.screen import one_line, printable, shown_call
from maverick.journal.compare import Divergence, compare_runs
from maverick.journal.timeline import TurnLine
from maverick.model.untrusted import unmarked

_SHOWN_WHOLE = 60
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
        stories = [
            await read_story(console.journal, await console.journal.get(each)) for each in (run_id, other_id)
        ]
        _show(console, found, *stories)
    return SUCCESS if found is None else FAILURE


def _show(console: Console, found: Divergence, one: Story, other: Story) -> None:
    columns = (Column(""), Column(one.record.run_id, shrinks=True), Column(other.record.run_id, shrinks=True))
    facts = zip(_facts(one).items(), _facts(other).values(), strict=True)
    if rows := [(name, said, others) for (name, said), others in facts if said != others]:
        console.tabulate(columns, rows)
    where, *values = _parting(one.timeline.turns, other.timeline.turns) or (
        f"They differ at entry {found.number}{found.path and f', {found.path}'}:",
        found.one,
        found.other,
    )
    ids = (one.record.run_id, other.record.run_id)
    shown = zip(ids, _around_the_difference(*values), strict=True)
    lines = (where, *(f"  {run_id:<{max(map(len, ids))}}  {said}" for run_id, said in shown))
    console.say(fitted(printable(one_line(line) if line is where else line), console.width) for line in lines)


def _facts(story: Story) -> dict[str, str]:
    """What a run was, and came to."""
    record, usage = story.record, story.timeline.usage
    reason = reason_of(record)
    return {
        "agent": record.agent,
        "model": story.model,
        "asked": story.task,
        "status": f"{record.status.value}: {reason}" if reason else record.status.value,
        "turns": str(len(story.timeline.turns)),
        "tokens": f"{usage.total_tokens:,}",
        "cost": money(usage.cost_usd),
    }


def _parting(ours: Sequence[TurnLine], theirs: Sequence[TurnLine]) -> tuple[str, object, object] | None:
    """Where the turns first differ, and what each run has there; ``None`` if the difference is in something else."""
    for one, other in zip_longest(_told(ours), _told(theirs), fillvalue=("", UNSET)):
        if one != other:
            where = one[0] or other[0]
            return f"{where}:", one[1], other[1] if other[0] == where else UNSET
    return None


def _told(turns: Sequence[TurnLine]) -> Iterator[tuple[str, object]]:
    """What happened in the turns, one thing after the other."""
    for turn in turns:
        yield f"In turn {turn.number} the model wrote", turn.text or UNSET
        for tool in turn.tools:
            call = shown_call(tool.tool_name, tool.arguments)
            yield f"In turn {turn.number} the model called", call
            yield f"In turn {turn.number} {call} came back", f"{tool.outcome}: {unmarked(tool.result)}"
        if turn.notes:
            yield f"In turn {turn.number} this happened", "; ".join(turn.notes)


def _around_the_difference(one: Any, other: Any) -> tuple[str, str]:  # noqa: ANN401 - JSON of any shape
    """Both values in words; of two texts, what comes from shortly before the place where they differ."""
    if not (isinstance(one, str) and isinstance(other, str)):
        return _words(one), _words(other)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    start = same - _SHOWN_BEFORE
    if start <= 0 or max(len(one), len(other)) <= _SHOWN_WHOLE:
        return repr(one), repr(other)
    return f"…{one[start:]!r}", f"…{other[start:]!r}"


def _words(value: Any) -> str:  # noqa: ANN401 - JSON of any shape
    return "(nothing)" if value is UNSET else repr(value)


def _fields(found: Divergence) -> dict[str, Any]:
    values = {"one": found.one, "other": found.other}
    there = {name: value for name, value in values.items() if value is not UNSET}
    return {"same": False, "number": found.number, "path": found.path, **there}
