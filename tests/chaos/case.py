"""One run and all the processes it took: the first that began it, those that were killed, and the one that ended it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from chaos.child import Job, Report
from chaos.launcher import KILLED, STOPPED, Launcher
from chaos.ledger import Deed, Ledger
from chaos.stores import Store
from chaos.survey import Survey
from chaos.trap import Passing, Spring, Trace, read_trace
from maverick import TerminateReason

_MOST_PROCESSES = 200
_GOES_ON = (TerminateReason.AWAITING_APPROVAL, TerminateReason.ABORTED)
"""The ends after which a scenario's run is resumed."""


@dataclass(frozen=True)
class Ended:
    """A process that is over, or frozen."""

    exit_code: int
    trace: Trace
    found: Survey | None
    """What it found in the journal when it began; ``None`` if it did not look, or was not let come so far."""
    report: Report | None
    log: str

    @property
    def cut_short(self) -> bool:
        """Whether it was killed or frozen."""
        return self.exit_code in (KILLED, STOPPED)


@dataclass(frozen=True)
class Case:
    """A scenario, where its run is kept, and what its processes left behind.

    Args:
        scenario: The scenario's name.
        store: Where the run is kept.
        folder: Where its processes leave what they have to say; its name is the run's id.
        sabotage: The safeguard its processes do without.
    """

    scenario: str
    store: Store
    folder: Path
    sabotage: str = ""
    processes: list[Ended] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)

    @property
    def deeds(self) -> list[Deed]:
        """Everything that was done in the world."""
        return Ledger(self.folder / "ledger").deeds()

    @property
    def passings(self) -> list[Passing]:
        """The write points that were passed, in order."""
        return [passing for process in self.processes for passing in process.trace.passings]

    @property
    def kills(self) -> list[Ended]:
        """The processes that were killed."""
        return [process for process in self.processes if process.exit_code == KILLED]

    @property
    def result(self) -> Report | None:
        """How the run ended, or how it stood when its newest process did."""
        return self.processes[-1].report if self.processes else None

    def run(self, launcher: Launcher, springs: Sequence[Spring] = (), delays: Sequence[float] = ()) -> None:
        """Run to the end: a process is killed for each spring, then for each delay; the others are let be.

        A spring that a process does not come to waits for it in the next one.
        """
        waiting, pauses = list(springs), iter(delays)
        while not self._is_over() and len(self.processes) < _MOST_PROCESSES:
            spring = waiting.pop(0) if waiting else None
            ended = self.start(launcher, spring, None if spring else next(pauses, None))
            if spring is not None and ended.trace.sprung_at is None:
                waiting.insert(0, _nearer(spring, ended.trace))

    def start(
        self, launcher: Launcher, spring: Spring | None = None, kill_after: float | None = None
    ) -> Ended:
        """Run one more process: the run's own, or a person's when the run waits for one."""
        parked = self.result is not None and self.result.reason == TerminateReason.AWAITING_APPROVAL
        job = Job(
            task="decide" if parked else "go",
            scenario=self.scenario,
            store=self.store.kind,
            address=self.store.address,
            run_id=self.folder.name,
            folder=str(self.folder),
            number=len(self.processes),
            spring=spring,
            kill_after=kill_after,
            sabotage=self.sabotage,
        )
        self.processes.append(_ended(job, launcher.run(job)))
        return self.processes[-1]

    def _is_over(self) -> bool:
        """Whether another process would change nothing: the run has ended, or can not be resumed."""
        if not self.processes or self.processes[-1].cut_short:
            return False
        decided = self.result is None and self.processes[-1].exit_code == 0
        return not decided and (self.result is None or self.result.reason not in _GOES_ON)


def _ended(job: Job, exit_code: int) -> Ended:
    found, report, log = job.file("survey"), job.file("report"), job.file("log")
    return Ended(
        exit_code=exit_code,
        trace=read_trace(job.file("trace")),
        found=msgspec.json.decode(found.read_bytes(), type=Survey) if found.exists() else None,
        report=msgspec.json.decode(report.read_bytes(), type=Report) if report.exists() else None,
        log=log.read_text() if log.exists() else "",
    )


def _nearer(spring: Spring, trace: Trace) -> Spring:
    """The spring for the next process, less the passings of this one."""
    passed = sum(spring.passing in (passing, None) for passing in trace.passings)
    return msgspec.structs.replace(spring, occurrence=spring.occurrence - passed)


def springs_of(passings: Sequence[Passing]) -> Iterator[Spring]:
    """A spring for each passing of a run that was let be."""
    for index, passing in enumerate(passings):
        yield Spring(passing, passings[: index + 1].count(passing))
