"""Kills many runs on one store, asks the oracle about each, and counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from chaos.case import Case, springs_of
from chaos.launcher import STOPPED, Launcher
from chaos.oracle import violations
from chaos.stores import Store
from chaos.trap import Spring

_TRIES = 3
"""Tools that run side by side do not always pass the same points; how often a kill that missed is tried again."""
_references: dict[tuple[str, str], tuple[Case, float]] = {}


class Tally:
    """What was done and what came of it."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.figures: dict[str, Any] = {"kills": 0, "runs": 0, "points": [], "violations": 0}
        """The same in figures, as plain values that a test's report can carry."""

    @property
    def kills(self) -> int:
        """How many processes were killed."""
        return int(self.figures["kills"])

    def add(self, case: Case, found: Sequence[str]) -> None:
        """Count a case."""
        self.violations += [f"{case.scenario}, {case.folder.name}: {violation}" for violation in found]
        died_at = (process.trace.passings[-1:] for process in case.kills)
        points = {str(passing) for last in died_at for passing in last}
        self.figures["kills"] += len(case.kills)
        self.figures["runs"] += 1
        self.figures["points"] = sorted({*self.figures["points"], *points})
        self.figures["violations"] += len(found)


class Campaign:
    """The cases of one scenario on one store.

    Args:
        scenario: The scenario's name.
        store: Where the runs are kept.
        launcher: What starts their processes.
        folder: A folder for what they leave behind.
        tally: Where they are counted.
        sabotage: The safeguard the processes do without, except those of the reference.
    """

    def __init__(
        self, scenario: str, store: Store, launcher: Launcher, folder: Path, tally: Tally, sabotage: str = ""
    ) -> None:
        self.scenario = scenario
        self.tally = tally
        self._store = store
        self._launcher = launcher
        self._folder = folder
        self._sabotage = sabotage
        self._numbers = count(1)

    @property
    def reference(self) -> Case:
        """The same run, let be."""
        return self._undisturbed[0]

    @property
    def seconds(self) -> float:
        """About how long a process of this run lives."""
        return self._undisturbed[1]

    @property
    def _undisturbed(self) -> tuple[Case, float]:
        """The run that all campaigns of this scenario on a store of this kind compare theirs with, made once."""
        kind = (self.scenario, self._store.kind)
        if kind not in _references:
            case = Case(self.scenario, self._store, self._folder / f"{self.scenario}-reference")
            began = time.perf_counter()
            case.run(self._launcher)
            _references[kind] = case, (time.perf_counter() - began) / len(case.processes)
        return _references[kind]

    @property
    def springs(self) -> list[Spring]:
        """A spring for each point that the run passes."""
        return list(springs_of(self.reference.passings))

    def let_be(self) -> Case:
        """Kill nothing, and ask for the result once more when the run has ended."""
        case = self._new_case()
        case.run(self._launcher)
        self._judge(case)
        case.start(self._launcher)
        self._judge(case)
        return case

    def kill_at(self, *springs: Spring) -> Case:
        """Kill a run at these points, one process after the other, as far as they come there."""
        case = self._new_case()
        case.run(self._launcher, springs)
        self._judge(case)
        return case

    def kill_surely_at(self, spring: Spring) -> Case:
        """Kill a run at a point, and if it passes it less often than the reference did, at an earlier passing."""
        for occurrence in range(spring.occurrence, 0, -1):
            for _ in range(_TRIES):
                case = self.kill_at(replace(spring, occurrence=occurrence))
                if case.kills:
                    return case
        raise AssertionError(f"missed: {spring}")

    def kill_ever_later(self, stride: int) -> Case:
        """Kill a run's every process, each a few passings later than the one before, until one comes to the end."""
        case = self._new_case()
        case.run(self._launcher, [Spring(None, occurrence) for occurrence in range(2, 200, stride)])
        self._judge(case)
        return case

    def kill_after(self, delays: Sequence[float]) -> Case:
        """Kill a run's processes from outside, after so many seconds each."""
        case = self._new_case()
        case.run(self._launcher, delays=delays)
        self._judge(case)
        return case

    def overtake_at(self, spring: Spring, rescuer: Launcher) -> tuple[Case, int]:
        """Freeze a process, have others end its run, and let it go on; also says how it ended then."""
        case = self._new_case()
        assert case.start(self._launcher, spring).exit_code == STOPPED, f"missed: {spring}"
        case.run(rescuer)
        exit_code = self._launcher.thaw()
        case.start(rescuer)
        self._judge(case)
        return case, exit_code

    def _new_case(self) -> Case:
        name = f"{self.scenario}-{self._sabotage}{next(self._numbers)}"
        return Case(self.scenario, self._store, self._folder / name, self._sabotage)

    def _judge(self, case: Case) -> None:
        self.tally.add(case, violations(case, self.reference))
