"""No write point exists that no scenario passes; and what a scenario passes, the kill matrix kills."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from chaos.campaign import Campaign, Tally
from chaos.child import NAMED_HERE
from chaos.launcher import Launcher
from chaos.sampling import POSTGRES_SAMPLE, STORES
from chaos.scenarios import SCENARIOS
from chaos.stores import Store
from chaos.trap import Passing
from maverick.runtime import run_writer


def points_in_source() -> set[str]:
    """The points that the run writer writes out in words, and the intents it writes at once."""
    named = {
        argument.value
        for node in ast.walk(ast.parse(inspect.getsource(run_writer)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("_flush", "_append", "at_write_point")
        for argument in node.args[:1]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    return named | {intent.__name__ for intent in run_writer._INTENTS}


@pytest.mark.requirement("P1")
@pytest.mark.parametrize("store", STORES, indirect=True)
def test_every_write_point_is_passed_before_and_after_by_what_is_killed(
    store: Store, launcher: Launcher, tmp_path: Path
) -> None:
    killed = SCENARIOS if store.kind == "sqlite" else POSTGRES_SAMPLE
    campaigns = [Campaign(scenario, store, launcher, tmp_path, Tally()) for scenario in killed]

    passed = {passing for campaign in campaigns for passing in campaign.reference.passings}

    points = points_in_source() | set(NAMED_HERE.values())
    assert {Passing(point, before) for point in points for before in (True, False)} - passed == set()
