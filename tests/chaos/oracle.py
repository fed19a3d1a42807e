"""Decides whether a run that was killed kept the promises. It believes the ledger, not the run.

A violation is a sentence that begins with the promise that was broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from chaos.bench import EXACTLY_ONCE, UNKNOWABLE
from chaos.case import Case
from chaos.child import Report
from chaos.ledger import Deed
from chaos.scenarios import SCENARIOS
from chaos.survey import CallFact, Survey
from maverick.loop.result import ToolOutcome
from maverick.model import Role
from scenario import assert_valid

_UNKNOWN_WORDS = "Unknown: the process stopped while this tool ran"

_MOST_UNDER_WAY = 2
"""How many model calls are under way at once: two subagents work side by side, and their caller waits for them."""


def violations(case: Case, reference: Case) -> list[str]:
    """What is wrong with a run, measured by one of the same scenario that was let be."""
    lost, result, expected = [*_lost(case), *doubled(case.deeds)], case.result, reference.result
    if lost or result is None or expected is None:
        return lost or ["P1 the run has no result"]
    unknown = _unknown(case, expected)
    return [
        *effects(case.deeds, result.bookings, result.journal),
        *_approvals(case, result),
        *_reported(case, result, unknown),
        *_history(case, result),
        *_budget(case, reference, result, expected),
        *_same(result, expected, unknown),
    ]


def _lost(case: Case) -> Iterator[str]:
    """P1: once its first write was durable a run can be resumed to its end."""
    durable = False
    for number, process in enumerate(case.processes):
        if process.found is not None and durable and not process.found.exists:
            yield f"P1 process {number} does not find the run, although it was written down"
        if not process.cut_short and process.exit_code != 0:
            yield f"P1 process {number} ended with {process.exit_code}: {process.log[-2000:]}"
        durable |= any(not passing.before for passing in process.trace.passings)
    result = case.result
    if result is None or result.reason != SCENARIOS[case.scenario].end:
        yield f"P1 the run did not come to its end in {len(case.processes)} processes"


def doubled(deeds: Sequence[Deed]) -> Iterator[str]:
    """P2: nothing is done twice, and for this the ledger alone is asked."""
    done = Counter((deed.what, deed.item) for deed in deeds if deed.kind == "effect")
    for (tool, item), times in done.items():
        if times > 1:
            yield f"P2 {tool} {item} took effect {times} times"


def effects(deeds: Sequence[Deed], bookings: Sequence[tuple[str, str]], journal: Survey) -> Iterator[str]:
    """P2: no effect is doubled, and none is claimed that did not happen."""
    done = Counter((deed.what, deed.item) for deed in deeds if deed.kind == "effect")
    done.update(("book", item) for item, _ in bookings)
    calls = {(call.tool, call.item): call for call in journal.calls if call.item}
    for tool, item in done.keys() - calls.keys():
        yield f"P2 {tool} {item} took effect without an intent"
    for (tool, item), call in calls.items():
        times, allowed = done[tool, item], _allowed_times(call)
        if times not in allowed:
            yield f"P2 {tool} {item} took effect {times} times and is {call.outcome or 'open'}; allowed: {sorted(allowed)}"


def _approvals(case: Case, result: Report) -> Iterator[str]:
    """P7: what a person refused is not done, and nobody is asked for nothing."""
    decisions = SCENARIOS[case.scenario].decisions
    for deed in case.deeds:
        if deed.what == "launch" and not decisions[deed.item]:
            yield f"P7 {deed.item} was launched although a person refused it"
    yield from (f"P7 {request} still waits for a decision" for request, _ in result.journal.pending)


def _allowed_times(call: CallFact) -> frozenset[int]:
    if call.outcome == ToolOutcome.DENIED:
        return frozenset({0})
    if call.tool in EXACTLY_ONCE:
        return frozenset({1})
    if call.tool not in UNKNOWABLE:
        return frozenset({0})  # pure: the ledger has looks of it, and no effects
    return frozenset({1}) if call.outcome in (ToolOutcome.FINISHED, ToolOutcome.FAILED) else frozenset({0, 1})


def _unknown(case: Case, expected: Report) -> set[str]:
    """The keys of the irreversible calls that a killed process had started and not resolved."""
    unresolved: set[str] = set()
    cut_short = False
    for process in case.processes:
        if cut_short and process.found is not None:
            unresolved |= process.found.unresolved(UNKNOWABLE)
        if process.cut_short or process.report is not None:
            cut_short = process.cut_short
    refused = {_place(call.key) for call in expected.journal.calls if call.outcome == ToolOutcome.DENIED}
    return {key for key in unresolved if _place(key) not in refused}


def _place(key: str) -> str:
    """Which call of its run, or of which subagent, a key stands for."""
    return key.split("/", 1)[1]


def _reported(case: Case, result: Report, unknown: set[str]) -> Iterator[str]:
    """P2: every unresolved irreversible call is reported as unknown, to the model too, and no other is."""
    reported = {call.key for call in result.journal.calls if call.outcome == ToolOutcome.UNKNOWN}
    for key in sorted(unknown - reported):
        yield f"P2 {key} was started and not resolved, and is not reported as unknown"
    for key in sorted(reported - unknown):
        yield f"P2 {key} is reported as unknown, although nothing happened to it"
    if not SCENARIOS[case.scenario].condenses:
        told = sum(m.content.count(_UNKNOWN_WORDS) for m in result.messages if m.role is Role.TOOL_RESULT)
        if told != len(unknown):
            yield f"P2 {len(unknown)} calls are unknown, and the model was told of {told}"


def _history(case: Case, result: Report) -> Iterator[str]:
    """P3: every call has exactly one result, in the journal, in the result and in every request."""
    yield from (f"P3 {fault}" for fault in result.journal.faults)
    yield from (f"P3 {deed.what} was sent this: {deed.item}" for deed in case.deeds if deed.kind == "invalid")
    yield from (f"P3 {call.key} has no result" for call in result.journal.calls if not call.outcome)
    try:
        assert_valid(result.messages)
    except AssertionError as error:
        yield f"P3 the conversation is not valid: {error}"


def _budget(case: Case, reference: Case, result: Report, expected: Report) -> Iterator[str]:
    """P5: a killed run takes no more turns than one that was let be, and asks the model again only after a kill."""
    if result.journal.turns > expected.journal.turns:
        yield f"P5 the run took {result.journal.turns} turns instead of {expected.journal.turns}"
    asked, usual = _times_asked(case), _times_asked(reference)
    cuts = sum(process.cut_short for process in case.processes)
    if asked > usual + _MOST_UNDER_WAY * cuts:
        yield f"P5 the model was asked {asked} times instead of {usual}; {cuts} processes were cut short"


def _times_asked(case: Case) -> int:
    return sum(deed.kind == "model" for deed in case.deeds)


def _same(result: Report, expected: Report, unknown: set[str]) -> Iterator[str]:
    """P1: the run ends as it would have ended, but for what is unknown."""
    if unknown:
        result, expected = _comparable(result, unknown), _comparable(expected, unknown)
    for name in ("reason", "turn_count", "errors", "records", "output", "messages", "tokens"):
        got, wanted = getattr(result, name), getattr(expected, name)
        if got != wanted:
            yield f"P1 the run's {name} is {got!r} instead of {wanted!r}"


def _comparable(report: Report, unknown: set[str]) -> Report:
    """The report without the words that depend on an unknown call."""
    places = {_place(key) for key in unknown}
    seen: Counter[int] = Counter()
    records = []
    for record in report.records:
        index, seen[record.turn] = seen[record.turn], seen[record.turn] + 1
        own = f"{record.turn}/{index}"
        affected = any(place == own or place.startswith(f"{own}/") for place in places)
        records.append(replace(record, result="", outcome=ToolOutcome.UNKNOWN) if affected else record)
    return replace(report, records=records, output=None, messages=[], tokens=0)
