"""Evaluates files of cases in the terminal, and writes cases made of recorded runs."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from maverick.agents.named_tools import coding_registry, names_tools
from maverick.agents.running import agent_executor
from maverick.cli.agent_lookup import look_up
from maverick.cli.eval.baseline import keep_report, last_report, report_in
from maverick.cli.eval.suites import Suite, read_suites, runnable
from maverick.cli.exit_codes import FAILURE, SIGNALLED, SUCCESS
from maverick.cli.formatting import Column, duration, money
from maverick.cli.progress import Progress
from maverick.cli.runs.console import Console
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.cli.stop_signals import on_stop_signals
from maverick.config import MaverickConfig
from maverick.evals import Attempt, CaseReport, Report, Status, evaluate
from maverick.evals.cases_file import CasesForm, case_from_result, dump_cases
from maverick.evals.evaluation import BUDGET_SPENT, recorded_result
from maverick.exceptions import InvalidInputError
from maverick.journal import Journal
from maverick.journal.opening import open_journal
from maverick.loop import AgentDefinition
from maverick.runtime import AbortSignal, AgentExecutor

_COLUMNS = (
    Column("CASE", shrinks=True),
    Column("RESULT"),
    Column("PASSED", right=True),
    Column("LAST TIME", right=True),
    Column("TURNS", right=True),
    Column("COST", right=True),
    Column("TIME", right=True),
)
_BAR = 20
_LEAST = 1e-9
"""The smallest budget; without any, nothing is run."""
_HEADER = """\
# Cases made of recorded runs: their answers are checked without a model. With `maverick eval FILE --model M`, the
# last turn of each runs again as a fork. Loosen what may differ: contains, matches, judge.
"""


def evaluate_files(options: argparse.Namespace) -> int:
    """Evaluate files of cases, or write cases made of runs.

    Raises:
        InvalidInputError: Neither or both were asked for, or a file is wrong.
    """
    if bool(options.files) == bool(options.from_runs):
        raise InvalidInputError(
            "Name one or more files of cases, or else runs with --from-runs.", field="files"
        )
    config = load_settings(asks=True, as_json=options.as_json)
    screen = Screen.of_process(interactive=False)
    if options.from_runs:
        return asyncio.run(_write_cases(options, config, screen))
    return asyncio.run(_evaluate(read_suites(options, config, screen), options, config, screen))


async def _evaluate(
    suites: Sequence[Suite], options: argparse.Namespace, config: MaverickConfig, screen: Screen
) -> int:
    stop, spent, passed = AbortSignal(), 0.0, True
    async with open_journal(options.journal or config.journal.get_secret_value()) as journal:
        console = Console(journal, screen, options.as_json, options.journal)
        with on_stop_signals(partial(stop.abort, "interrupted")) as signals:
            for suite in suites:
                if options.max_cost_usd is not None and spent >= options.max_cost_usd:
                    stop.abort(BUDGET_SPENT)
                report = await _evaluate_suite(suite, options, config, console, stop, spent)
                spent += report.cost_usd or 0
                passed = passed and report.passed
        if signals:
            return SIGNALLED + signals[0]
        return SUCCESS if passed else FAILURE


async def _evaluate_suite(
    suite: Suite,
    options: argparse.Namespace,
    config: MaverickConfig,
    console: Console,
    stop: AbortSignal,
    spent: float,
) -> Report:
    left = None if options.max_cost_usd is None else max(options.max_cost_usd - spent, _LEAST)
    earlier = (
        last_report(suite.file)
        if options.compare is None
        else report_in(options.compare, suite.definition.name)
    )
    executing: AbstractAsyncContextManager[AgentExecutor] = (
        agent_executor(
            suite.found, config, console.journal, mode=options.mode, on_remark=console.screen.remark
        )
        if suite.live
        else _replaying(suite.definition, config, console.journal)
    )
    async with executing as executor, _progress(console, len(suite.cases) * options.repeat) as on_attempt:
        report = await evaluate(
            suite.definition,
            suite.cases,
            executor=executor,
            repeat=options.repeat,
            concurrency=options.concurrency,
            max_cost_usd=left,
            judge_model=options.judge_model,
            live=options.model is not None,
            signal=stop,
            on_attempt=on_attempt,
        )
    keep_report(suite.file, report)
    if console.as_json:
        changes = (
            {}
            if earlier is None
            else {"regressions": report.regressions(earlier), "fixed": report.fixed(earlier)}
        )
        console.write({"file": suite.file, **msgspec.json.decode(report.to_json()), **changes})
    else:
        _show(console, suite.file, report, earlier)
    return report


def _replaying(definition: AgentDefinition[Any], config: MaverickConfig, journal: Journal) -> AgentExecutor:
    """What plays runs back: without MCP servers, since what their tools did is in the journal."""
    tools = coding_registry(Path.cwd()) if names_tools(definition) else None
    return AgentExecutor(None, tools, journal=journal, settings=config.agent)


def _show(console: Console, file: str, report: Report, earlier: Report | None) -> None:
    before = {} if earlier is None else {case.name: case for case in earlier.cases}
    console.say([f"{file}: {report.agent}{f' on {report.model}' if report.model else ''}"])
    rows = [_row(case, before.get(case.name)) for case in report.cases]
    console.tabulate(_COLUMNS, rows)
    console.say(report.problems())
    console.say([f"{report.summary()} Cost: {money(report.cost_usd)}."])
    if earlier is not None:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(earlier.at))
        for word, names in (("Worse", report.regressions(earlier)), ("Better", report.fixed(earlier))):
            if names:
                console.say([f"{word} than on {when}: {', '.join(names)}"])


def _row(case: CaseReport, before: CaseReport | None) -> tuple[str, ...]:
    done = case.finished
    if not done:
        return (case.name, "not run", "", _rate(before), "", money(case.cost_usd), "")
    has_error = any(attempt.status is Status.ERROR for attempt in done)
    return (
        case.name,
        "passed" if case.passed else "error" if has_error else "FAILED",
        _rate(case),
        _rate(before),
        f"{sum(attempt.turns for attempt in done) / len(done):.3g}",
        money(case.cost_usd),
        duration(sum(attempt.duration_ms for attempt in done) / len(done) / 1000),
    )


def _rate(case: CaseReport | None) -> str:
    if case is None or not case.finished:
        return ""
    passed = sum(attempt.status is Status.PASSED for attempt in case.finished)
    return f"{passed}/{len(case.finished)}"


@asynccontextmanager
async def _progress(console: Console, total: int) -> AsyncIterator[Callable[[str, Attempt], None]]:
    """Shows how far it is: a bar on a terminal, a line for each attempt elsewhere, nothing beside JSON."""
    done: list[Status] = []
    bar = Progress(sys.stderr, lambda: True, lambda: console.width)
    has_bar = sys.stderr.isatty() and not console.as_json

    def on_attempt(name: str, attempt: Attempt) -> None:
        done.append(attempt.status)
        bar.note(_drawn(done, total))
        if not has_bar and not console.as_json:
            console.screen.remark(f"[{len(done)}/{total}] {attempt.status.value}: {name}")

    bar.doing("evaluating")
    async with bar if has_bar else nullcontext():
        yield on_attempt


def _drawn(done: Sequence[Status], total: int) -> str:
    filled = _BAR * len(done) // total
    failed = sum(status is not Status.PASSED for status in done)
    return (
        f"{'█' * filled}{'░' * (_BAR - filled)} {len(done)}/{total}{f', {failed} failed' if failed else ''}"
    )


async def _write_cases(options: argparse.Namespace, config: MaverickConfig, screen: Screen) -> int:
    location = options.journal or config.journal.get_secret_value()
    async with open_journal(location, create=False) as journal:
        agents = {(await journal.get(run_id)).agent for run_id in options.from_runs}
        if len(agents) > 1:
            raise InvalidInputError(
                f"These are runs of several agents: {', '.join(sorted(agents))}. Write a file for each.",
                field="runs",
            )
        named = options.agent or agents.pop()
        definition = runnable(look_up(named, config), config)
        async with _replaying(definition, config, journal) as executor:
            cases = [
                case_from_result(run_id, await recorded_result(executor, run_id, definition))
                for run_id in options.from_runs
            ]
    screen.say(_HEADER + dump_cases(CasesForm(agent=named, cases=cases)))
    return SUCCESS
