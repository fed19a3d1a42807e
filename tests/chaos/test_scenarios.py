"""Each scenario is what its name says; otherwise killing it would show nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.campaign import Campaign, Tally
from chaos.case import Case
from chaos.launcher import Launcher
from chaos.stores import Store
from chaos.trap import Passing


def reasons(case: Case) -> list[str]:
    return [process.report.reason for process in case.processes if process.report is not None]


def asked(case: Case) -> list[str]:
    return [deed.what.split()[0] for deed in case.deeds if deed.kind == "model"]


def keys(case: Case) -> set[str]:
    return {deed.key for deed in case.deeds if deed.kind == "effect"}


def count(case: Case, point: str) -> int:
    return case.passings.count(Passing(point, before=False))


SHOWS: dict[str, Callable[[Case], bool]] = {
    "no-tools": lambda case: asked(case) == ["worker"],
    "transactional": lambda case: count(case, "Transaction") == 2,
    "parallel": lambda case: count(case, "ToolFinished") >= 1 and count(case, "Effect") == 9,
    "nested": lambda case: {key.count("/") for key in keys(case)} == {2, 4},
    "approval": lambda case: reasons(case) == ["awaiting_approval", "complete"],
    "approval-again": lambda case: reasons(case) == ["awaiting_approval", "awaiting_approval", "complete"],
    "nested-approval": lambda case: reasons(case) == ["awaiting_approval", "complete"],
    "retry": lambda case: sum(deed.kind == "failure" for deed in case.deeds) == 2,
    "compaction": lambda case: "Condense" in asked(case),
    "repair": lambda case: asked(case) == ["worker", "worker"],
    "abort": lambda case: reasons(case) == ["aborted", "complete"],
    "handover": lambda case: count(case, "HandedOver") == 1 and count(case, "Resumed") == 1,
    "fork": lambda case: any("-base/" in key for key in keys(case)) and count(case, "Resumed") == 1,
    "turn-budget": lambda case: reasons(case) == ["max_turns"],
    "tool-budget": lambda case: reasons(case) == ["max_tool_calls"],
    "nested-budget": lambda case: asked(case).count("helper") == 3,
}


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize("scenario", SHOWS)
def test_a_scenario_shows_what_it_is_named_after(
    scenario: str, store: Store, launcher: Launcher, tmp_path: Path
) -> None:
    case = Campaign(scenario, store, launcher, tmp_path / "runs", Tally()).reference

    assert SHOWS[scenario](case), (asked(case), reasons(case), keys(case), case.passings)
