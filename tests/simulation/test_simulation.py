"""Thousands of random runs of the pure loop, with every fault there is. One seed is one run, always the same."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from maverick import tool
from maverick.loop.events import Compacted, PrefixChanged
from maverick.loop.prefix import PrefixReason
from maverick.loop.result import TerminateReason, ToolOutcome
from simulation.simulator import Simulation, retrace
from simulation.world import TOOLS, World

BATCHES = 6
"""Spread over the cores; a batch is a range of seeds."""


def simulated(seed: int, *, traced: bool = False) -> Simulation:
    return Simulation(World(seed), traced=traced)


def fork_some(simulation: Simulation) -> None:
    """Fork some of the runs, at any turn, with and without an edit."""
    rng, turns = simulation.world.rng, simulation.loop.turn
    if turns and rng.random() < 0.2:
        simulation.fork(rng.randint(1, turns), rng.choice([None, "Something else, please."]))


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--runs"))


@pytest.mark.requirement("P3", "P5", "003-FR2-AC1", "003-FR2-AC2", "003-FR2-AC3", "003-FR2-AC5")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_no_promise_is_broken_in_any_run(batch: int, runs: int) -> None:
    for seed in range(batch, runs, BATCHES):
        try:
            simulation = simulated(seed)
            simulation.run()
            fork_some(simulation)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_the_same_seed_makes_a_byte_identical_trace() -> None:
    for seed in range(200):
        first, second = simulated(seed, traced=True), simulated(seed, traced=True)
        first.run()
        second.run()
        assert "\n".join(first.trace).encode() == "\n".join(second.trace).encode(), seed


@tool(approval=True)
async def unknown(name: str) -> str:
    """Do what the simulated runs had no tool for."""
    return name


unknown.description *= 100  # it fills a small window


@pytest.mark.requirement("P10")
def test_what_happened_stays_as_it_was_whatever_tools_there_are_today() -> None:
    subsets = [names for size in range(len(TOOLS)) for names in combinations(TOOLS, size)]
    for seed in range(150):
        simulation = simulated(seed, traced=True)
        simulation.run()
        for names in subsets:
            for new in ({}, {"unknown": unknown}):
                today = {name: TOOLS[name] for name in names} | new
                assert list(retrace(simulation, today)) == simulation.trace, (
                    f"seed {seed}, tools {list(today)}"
                )


def test_the_world_is_hostile_enough_to_end_runs_in_every_way_and_tools_too() -> None:
    simulations = [simulated(seed) for seed in range(1_500)]
    results = [simulation.run().result for simulation in simulations]
    events = [event for simulation in simulations for event in simulation.events]
    changes = {event.reason for event in events if isinstance(event, PrefixChanged)}
    assert changes == set(PrefixReason) - {PrefixReason.SETTINGS_CHANGED}
    assert {event.native for event in events if isinstance(event, Compacted)} == {True, False}
    reasons = Counter(result.terminate_reason for result in results)
    outcomes = Counter(record.outcome for result in results for record in result.tool_calls)
    assert set(reasons) == set(TerminateReason) - {TerminateReason.AWAITING_APPROVAL}
    assert set(outcomes) == set(ToolOutcome)
    assert sum(result.success for result in results) > 100
