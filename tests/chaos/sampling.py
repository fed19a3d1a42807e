"""How much is killed: everything when asked for, and otherwise a sample that is always the same.

``CHAOS_FULL=1`` kills every run at every occurrence of every point on every store. ``CHAOS_N`` is the number of kills at
random times on each store.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from random import Random

import pytest

from chaos.scenarios import SCENARIOS
from chaos.trap import Passing, Spring

FULL = os.environ.get("CHAOS_FULL") == "1"
RANDOM_KILLS = int(os.environ.get("CHAOS_N") or 40)
STORES = ("sqlite", "postgres")

POSTGRES_SAMPLE = ("abort", "approval", "fork", "handover", "nested", "transactional")
"""What is killed on Postgres when not everything is: together these pass every point."""
RECOVERY_SAMPLE = ("abort", "approval", "fork", "irreversible", "nested", "parallel")
"""What is killed in every pair of points when not everything is."""


def killing(
    *,
    sqlite: Iterable[str] = SCENARIOS,
    postgres: Iterable[str] = POSTGRES_SAMPLE,
    full: Iterable[str] = SCENARIOS,
) -> pytest.MarkDecorator:
    """Parametrize a test with a store and a scenario: those of ``full``, or of the sample for each store."""
    chosen = {"sqlite": full, "postgres": full} if FULL else {"sqlite": sqlite, "postgres": postgres}
    pairs = [(kind, scenario) for kind, scenarios in chosen.items() for scenario in scenarios]
    return pytest.mark.parametrize(("store", "scenario"), pairs, indirect=["store"])


def sample(scenario: str, springs: Sequence[Spring]) -> list[Spring]:
    """One occurrence of each passing; all of them when everything is killed."""
    if FULL:
        return list(springs)
    occurrences: dict[Passing | None, list[Spring]] = {}
    for spring in springs:
        occurrences.setdefault(spring.passing, []).append(spring)
    return [Random(f"{scenario} {passing}").choice(found) for passing, found in occurrences.items()]
