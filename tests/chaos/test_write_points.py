"""No write point exists that no scenario passes; what a scenario passes, the kill matrix kills."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable

import pytest

from chaos.campaign import Campaign
from chaos.child import NAMED_HERE
from chaos.scenarios import SCENARIOS
from chaos.trap import Passing
from maverick.journal import Journal
from maverick.runtime import keeper


def points_in_source() -> set[str]:
    """The names of write points that the keeper of runs writes out, and those of the intents it writes at once."""
    named = {
        argument.value
        for node in ast.walk(ast.parse(inspect.getsource(keeper)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in ("_write", "_append", "at_write_point")
        for argument in node.args[:1]
        if isinstance(argument, ast.Constant)
    }
    return named | {intent.__name__ for intent in keeper._INTENTS}


@pytest.mark.requirement("P1")
def test_every_write_point_is_passed_before_and_after_in_some_scenario(
    campaign: Callable[..., Campaign],
) -> None:
    passed = {passing for scenario in SCENARIOS for passing in campaign(scenario).reference.passings}

    expected = points_in_source() | set(NAMED_HERE.values())
    assert {Passing(point, before) for point in expected for before in (True, False)} <= passed
