"""What an evaluation found: each attempt at each case, pass rates, and what got worse since another evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec
from msgspec import Struct

from maverick.exceptions import InvalidInputError


class Status(StrEnum):
    """What became of a check, or of an attempt at a case."""

    PASSED = "passed"
    """It was as expected."""
    FAILED = "failed"
    """It was not as expected."""
    ERROR = "error"
    """It could not be found out: the check or the run failed."""
    STOPPED = "stopped"
    """It was stopped before its end, and does not count."""


class CheckResult(Struct, frozen=True):
    """What a check said of a run."""

    check: str
    """What was checked."""
    status: Status
    """Whether it passed."""
    reason: str = ""
    """Why it did not pass, or what else it said."""


class Attempt(Struct, frozen=True, kw_only=True):
    """One run of a case."""

    run_id: str
    """The run, for ``maverick runs show``."""
    status: Status
    """How it ended."""
    checks: tuple[CheckResult, ...] = ()
    """What each check said."""
    output: str = ""
    """The answer as text."""
    error: str = ""
    """Why the run did not succeed."""
    turns: int = 0
    """How many turns the run took."""
    cost_usd: float | None = 0.0
    """What was spent on it, judges included; ``None`` when that is not known."""
    duration_ms: int = 0
    """How long the run took."""

    @property
    def problems(self) -> Iterator[str]:
        """What was wrong with it, in lines."""
        if self.error and self.status is not Status.PASSED:
            yield self.error
        for check in self.checks:
            if check.status is not Status.PASSED:
                word = "error in check" if check.status is Status.ERROR else "failed"
                yield f"{word}: {check.check.rstrip('.')}. {check.reason}".rstrip()


class CaseReport(Struct, frozen=True):
    """All attempts at a case."""

    name: str
    """The name of the case."""
    attempts: tuple[Attempt, ...] = ()
    """One for each repetition."""
    min_pass_rate: float = 1.0
    """How many of the attempts have to pass, from 0 to 1."""

    @property
    def finished(self) -> tuple[Attempt, ...]:
        """The attempts that were not stopped."""
        return tuple(attempt for attempt in self.attempts if attempt.status is not Status.STOPPED)

    @property
    def pass_rate(self) -> float | None:
        """How many of the finished attempts have passed, from 0 to 1; ``None`` if there are none."""
        passed = [attempt.status is Status.PASSED for attempt in self.finished]
        return sum(passed) / len(passed) if passed else None

    @property
    def passed(self) -> bool:
        """Whether enough attempts have passed."""
        rate = self.pass_rate
        return rate is not None and rate >= self.min_pass_rate

    @property
    def cost_usd(self) -> float | None:
        """What its attempts cost; ``None`` when that is not known."""
        return total_cost(attempt.cost_usd for attempt in self.attempts)


class Report(Struct, frozen=True, kw_only=True):
    """What an evaluation found."""

    agent: str
    """The agent's name."""
    model: str = ""
    """The model that answered; empty if none was asked."""
    at: float
    """When it began, in seconds since the epoch."""
    cases: tuple[CaseReport, ...]
    """What was found of each case."""
    stopped: str = ""
    """Why it was stopped before all cases were run, if it was."""

    @property
    def passed(self) -> bool:
        """Whether all cases were run, and passed."""
        return not self.stopped and all(case.passed for case in self.cases)

    @property
    def cost_usd(self) -> float | None:
        """What all of it cost; ``None`` when that is not known."""
        return total_cost(case.cost_usd for case in self.cases)

    def regressions(self, earlier: Report) -> list[str]:
        """The cases that passed in an earlier evaluation, and do not now."""
        return self._changed(earlier, passed_before=True)

    def fixed(self, earlier: Report) -> list[str]:
        """The cases that pass now, and did not in an earlier evaluation."""
        return self._changed(earlier, passed_before=False)

    def _changed(self, earlier: Report, *, passed_before: bool) -> list[str]:
        before = {case.name: case.passed for case in earlier.cases if case.finished}
        return [
            case.name
            for case in self.cases
            if case.finished and before.get(case.name) is passed_before and case.passed is not passed_before
        ]

    def updating(self, earlier: Report | None) -> Report:
        """This report with what an earlier one has of cases that were not run this time."""
        if earlier is None:
            return self
        done = {case.name for case in self.cases if case.finished}
        kept = [case for case in earlier.cases if case.name not in done]
        return msgspec.structs.replace(
            self, cases=(*kept, *(case for case in self.cases if case.name in done)), stopped=""
        )

    def to_json(self) -> bytes:
        """The report as JSON, with what was found in it: ``passed`` and pass rates."""
        plain = msgspec.to_builtins(self)
        for fields, case in zip(plain["cases"], self.cases, strict=True):
            fields |= {"passed": case.passed, "pass_rate": case.pass_rate}
        return msgspec.json.encode({"passed": self.passed, "cost_usd": self.cost_usd, **plain})

    @classmethod
    def from_json(cls, data: bytes) -> Report:
        """The report that was written with :meth:`to_json`.

        Raises:
            InvalidInputError: It is not one.
        """
        try:
            return msgspec.json.decode(data, type=Report)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problem = "This is not the report of an evaluation. Write one with: maverick eval … --json"
            raise InvalidInputError(problem, field="report") from error

    def summary(self) -> str:
        """How many cases passed, in a line."""
        passed = sum(case.passed for case in self.cases)
        stopped = f" Stopped: {self.stopped}" if self.stopped else ""
        return f"{passed} of {len(self.cases)} cases passed.{stopped}"

    def problems(self) -> Iterator[str]:
        """What was wrong, case by case, in lines."""
        for case in self.cases:
            for attempt in case.finished:
                if attempt.status is not Status.PASSED:
                    yield f"{case.name} ({attempt.run_id})"
                    yield from (f"  {problem}" for problem in attempt.problems)

    def __str__(self) -> str:
        return "\n".join((self.summary(), *self.problems()))


def total_cost(costs: Iterable[float | None]) -> float | None:
    """What all of them are together; ``None`` when one is not known."""
    known = list(costs)
    return None if None in known else sum(cost for cost in known if cost is not None)
