"""``evaluate``: runs cases, many at once and each as often as asked, and checks what comes of them."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from maverick.evals.case import JUDGE, AnyCheck, Case, Judge
from maverick.evals.checks import Check, CheckVerdict, tested, text_of
from maverick.evals.report import Attempt, CaseReport, CheckResult, Report, Status, total_cost
from maverick.exceptions import InvalidInputError, MaverickError, describe_unknown
from maverick.loop import AgentDefinition, AgentResult, ModelConfig, TerminateReason
from maverick.loop.events import AgentActivityEvent, RunEnd, UsageUpdated
from maverick.misuse import refuse
from maverick.model import LLMClient
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.runtime.event_log import Listener

_NOT_PLAIN = re.compile(r"[^\w.-]+", re.ASCII)
_Judging: TypeAlias = tuple[AgentExecutor, AgentDefinition[CheckVerdict]]
BUDGET_SPENT = "the budget is spent"
"""Why an evaluation was stopped whose budget is used up."""


async def evaluate(
    agent: AgentDefinition[Any],
    cases: Iterable[Case],
    *,
    executor: AgentExecutor | None = None,
    checks: Sequence[AnyCheck] = (),
    repeat: int = 1,
    concurrency: int = 8,
    max_cost_usd: float | None = None,
    judge_model: str | LLMClient | None = None,
    live: bool = False,
    signal: AbortSignal | None = None,
    on_attempt: Callable[[str, Attempt], object] | None = None,
) -> Report:
    """Run cases, and check what comes of them.

    Args:
        agent: The agent.
        cases: The cases; their names differ.
        executor: Runs the agent; with a journal, each case is a run that can be looked at. By default one that connects
            to the model of the agent.
        checks: Checks for every case, besides its own.
        repeat: How often each case is run.
        concurrency: How many runs there are at once, at most.
        max_cost_usd: The most that all of it may cost, judges included. When it is spent, nothing more is started, and
            what runs is stopped; a turn that is under way in each of those may still be billed.
        judge_model: The model of judges that name none; by default the agent's.
        live: Whether cases of recorded runs call the model for the last turn, as forks of these runs. Otherwise their
            recorded answers are checked, without a model.
        signal: Stops the evaluation when it is aborted; the report has what was done until then.
        on_attempt: Called with the name of a case and each of its attempts, as they end.

    Raises:
        InvalidInputError: There are no cases, two have one name, an input is missing or of the wrong type, or a number
            is too small.
        ConfigError: The settings do not say how to reach the model.
    """
    cases = _checked(cases, checks, agent, repeat, concurrency)
    if max_cost_usd is not None:
        own = agent.run_config.max_cost_usd
        least = max_cost_usd if own is None else min(own, max_cost_usd)
        agent = replace(agent, run_config=replace(agent.run_config, max_cost_usd=least))
    async with AsyncExitStack() as stack:
        if executor is None:
            executor = await stack.enter_async_context(AgentExecutor())
        if live or any(case.run is None for case in cases):
            # Whether it can be run at all is found out once, before anything is.
            _check_tools(cases, checks, executor.fingerprint(agent).tools)
        evaluation = _Evaluation(agent, executor, stack, checks, max_cost_usd, judge_model, live, on_attempt)
        for check in (*checks, *(check for case in cases for check in case.checks)):
            if isinstance(check, Judge):
                evaluation.prepare(check)
        if signal is not None:
            stack.callback(signal.subscribe(lambda: evaluation.signal.abort(signal.reason)))
        return await evaluation.run(cases, repeat, concurrency)


@dataclass(slots=True)
class _Evaluation:
    """An evaluation in progress."""

    agent: AgentDefinition[Any]
    executor: AgentExecutor
    stack: AsyncExitStack
    checks: Sequence[AnyCheck]
    max_cost_usd: float | None
    judge_model: str | LLMClient | None
    live: bool
    on_attempt: Callable[[str, Attempt], object] | None
    signal: AbortSignal = field(default_factory=AbortSignal)
    judges: dict[str | int | None, _Judging] = field(default_factory=dict)
    """What runs the judges, by their models."""
    model: str = ""
    spent: float = 0.0

    async def run(self, cases: Sequence[Case], repeat: int, concurrency: int) -> Report:
        """Run all attempts, a bounded number at once."""
        at, evaluation_id = time.time(), f"eval_{os.urandom(4).hex()}"
        attempts: dict[str, dict[int, Attempt]] = {case.name: {} for case in cases}
        ids = [f"{n}-{_NOT_PLAIN.sub('-', case.name)[:40]}" for n, case in enumerate(cases, 1)]
        waiting = (
            (case, number, f"{evaluation_id}.{name}.{number}")
            for number in range(1, repeat + 1)
            for case, name in zip(cases, ids, strict=True)
        )

        async def work() -> None:
            for case, number, run_id in waiting:
                if self.signal.aborted:
                    return
                attempt = attempts[case.name][number] = await self._attempt(case, run_id)
                if self.on_attempt is not None and attempt.status is not Status.STOPPED:
                    self.on_attempt(case.name, attempt)

        workers = [asyncio.ensure_future(work()) for _ in range(min(concurrency, len(cases) * repeat))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)
        reports = [
            CaseReport(case.name, tuple(found[number] for number in sorted(found)), case.min_pass_rate)
            for case, found in zip(cases, attempts.values(), strict=True)
        ]
        is_complete = all(len(report.finished) == repeat for report in reports)
        return Report(
            agent=self.agent.name,
            model=self.model,
            at=at,
            cases=tuple(reports),
            stopped="" if is_complete else self.signal.reason or "aborted",
        )

    async def _attempt(self, case: Case, run_id: str) -> Attempt:
        costs: list[float | None] = []

        def listen(event: AgentActivityEvent) -> None:
            if isinstance(event, UsageUpdated):
                costs.append(event.usage.cost_usd)
                self._spend(event.usage.cost_usd)

        started = time.monotonic()
        try:
            result = await self._run(case, run_id, listen)
        except MaverickError as error:
            return Attempt(run_id=case.run or run_id, status=Status.ERROR, error=str(error))
        if case.run is None or self.live:
            self.model = str(result.metadata.get("model") or self.model)
            seen, was_stopped = run_id, result.terminate_reason is TerminateReason.ABORTED
        else:
            seen, was_stopped = case.run, False
        checks = [
            self._check(check, f"{run_id}.judge{number}", listen)
            for number, check in enumerate([*self.checks, *case.checks], 1)
        ]
        found = [] if was_stopped else [await tested(check, result) for check in checks]
        may_fail = any(check.allows_failure for check in checks)
        status = _status(result, found, may_fail=may_fail)
        if self.signal.aborted and (was_stopped or status is Status.ERROR):
            status = Status.STOPPED
        return Attempt(
            run_id=seen,
            status=status,
            checks=tuple(found),
            output=text_of(result),
            error="" if may_fail else result.error or "",
            turns=result.turn_count,
            cost_usd=total_cost(costs),
            duration_ms=round((time.monotonic() - started) * 1000),
        )

    async def _run(self, case: Case, run_id: str, listen: Listener) -> AgentResult[Any]:
        watched: Any = {"deps": case.deps, "signal": self.signal, "on_activity": listen}
        if case.run is None:
            return await self.executor.execute(
                self.agent, inputs=case.inputs, messages=case.messages, run_id=run_id, **watched
            )
        recorded = await recorded_result(self.executor, case.run, self.agent)
        if not self.live:
            return recorded
        return await self.executor.fork(
            case.run, self.agent, turn=recorded.turn_count, new_run_id=run_id, **watched
        )

    def _check(self, check: AnyCheck, run_id: str, listen: Listener) -> Check:
        """A check with its name, and a judge with its model."""
        if isinstance(check, Check):
            return check
        if not isinstance(check, Judge):
            return Check(getattr(check, "__name__", repr(check)), check)
        judging, definition = self.prepare(check)

        async def judged(result: AgentResult[Any]) -> CheckVerdict:
            verdict = await judging.execute(
                definition, inputs=check.inputs(result), run_id=run_id, signal=self.signal, on_activity=listen
            )
            return verdict.unwrap()

        return Check(f"judge: {check.rubric}", judged)

    def prepare(self, judge: Judge) -> _Judging:
        """What runs a judge: the agent's executor, unless the judge has a model of its own."""
        model = self.judge_model if judge.model is None else judge.model
        key = model if isinstance(model, str | None) else id(model)
        if key not in self.judges:
            named = self.agent.model_config.model if model is None else model
            definition = replace(JUDGE, model_config=ModelConfig(named if isinstance(named, str) else None))
            executor = self.executor
            if model is not None:
                executor = AgentExecutor.like(executor, client=None if isinstance(model, str) else model)
                self.stack.push_async_callback(executor.aclose)
            executor.fingerprint(definition)
            self.judges[key] = executor, definition
        return self.judges[key]

    def _spend(self, cost: float | None) -> None:
        self.spent += cost or 0
        if self.max_cost_usd is not None and self.spent >= self.max_cost_usd:
            self.signal.abort(BUDGET_SPENT)


async def recorded_result(
    executor: AgentExecutor, run_id: str, agent: AgentDefinition[Any]
) -> AgentResult[Any]:
    """How a run ended, if it has, from its journal alone: no model is called, and no tool is run."""
    result: AgentResult[Any] | None = None
    async for event in executor.replay(run_id, agent):
        if event.run_id == run_id:  # and not that of a subagent
            result = event.result if isinstance(event, RunEnd) else None
    if result is None:
        raise InvalidInputError(
            f"The run {run_id!r} has not ended. Resume it first: maverick runs resume {run_id}", field="run"
        )
    return result


def _status(result: AgentResult[Any], checks: Sequence[CheckResult], *, may_fail: bool) -> Status:
    statuses = {check.status for check in checks}
    if not result.success and not may_fail:
        statuses.add(Status.FAILED if result.terminate_reason is TerminateReason.COMPLETE else Status.ERROR)
    return next((worst for worst in (Status.ERROR, Status.FAILED) if worst in statuses), Status.PASSED)


def _checked(
    given: Iterable[Case],
    checks: Sequence[AnyCheck],
    agent: AgentDefinition[Any],
    repeat: int,
    concurrency: int,
) -> list[Case]:
    """The cases, after a look at what would only be found out when they run."""
    cases = list(given) if isinstance(given, Iterable) else []
    if not isinstance(given, Iterable) or not all(isinstance(case, Case) for case in cases):
        refuse("cases", "expected a list, such as [Case(…), Case(…)].")
    if not cases:
        raise InvalidInputError("There are no cases.", field="cases")
    [(name, times)] = Counter(case.name for case in cases).most_common(1)
    if times > 1:
        raise InvalidInputError(f"Two cases have the name {name!r}. Rename one of them.", field="cases")
    for name, number in (("repeat", repeat), ("concurrency", concurrency)):
        if number < 1:
            refuse(name, f"expected 1 or more, got {number!r}.")
    for case in cases:
        if case.run is None:
            try:
                agent.render(case.inputs)
            except InvalidInputError as error:
                raise InvalidInputError(f"{case.label}: {error}", field=error.field) from error
    if not checks and (unchecked := [case.label for case in cases if not case.checks]):
        problem = "has no checks. Add some; ends('complete') only asks that the run succeeds."
        raise InvalidInputError(f"{unchecked[0]} {problem}", field="checks")
    return cases


def _check_tools(cases: Sequence[Case], checks: Sequence[AnyCheck], tools: Collection[str]) -> None:
    """Refuse checks of tools that the agent does not have: that one is not called would always be true."""
    for case in cases:
        if case.run is not None:
            continue  # the agent may have had other tools then
        for check in (*checks, *case.checks):
            if isinstance(check, Check) and check.tool and check.tool not in tools:
                problem = describe_unknown("tool", check.tool, list(tools))
                raise InvalidInputError(f"{case.label}: {problem}", field="checks")
