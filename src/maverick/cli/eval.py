"""Evaluates files of cases in the terminal, and writes cases made of recorded runs."""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.python_source import load_python
from maverick.agents.running import agent_executor
from maverick.cli.agent_lookup import explain_stand_in, look_up, runnable, split_source, who_answers
from maverick.cli.event_printer import Progress
from maverick.cli.exit_codes import FAILURE, SIGNALLED, SUCCESS
from maverick.cli.formatting import columns_of
from maverick.cli.run_options import RunOptions
from maverick.cli.runs.console import Console
from maverick.cli.runs.resume import replaying_executor
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.cli.stop_signals import on_stop_signals
from maverick.config import MaverickConfig
from maverick.config.own_files import own_folder, persons_home, replace_file
from maverick.config.trust import Trust
from maverick.evals import Attempt, Case, CaseReport, Report, Status, evaluate
from maverick.evals.cases_file import CasesFile, CasesForm, case_from_result, dump_cases
from maverick.evals.evaluation import BUDGET_SPENT, recorded_result
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.journal.opening import open_journal
from maverick.loop import AgentDefinition
from maverick.providers.resolve import resolve
from maverick.runtime import AbortSignal, AgentExecutor
from maverick.tui.figures import duration, money

_COLUMNS = columns_of("CASE…", "RESULT", ">PASSED", ">LAST TIME", ">TURNS", ">COST", ">TIME")
_BAR = 20
_LEAST = 1e-9
"""The smallest budget; without any, nothing is run."""
_HEADER = """\
# Cases made of recorded runs: their answers are checked without a model. With `maverick eval FILE --model M`, the
# last turn of each runs again as a fork. Loosen what may differ: contains, matches, judge.
"""


def evaluate_files(options: argparse.Namespace) -> Coroutine[Any, Any, int | None]:
    """Evaluate files of cases, or write cases made of runs."""
    if bool(options.files) == bool(options.from_runs):
        problem = "Name one or more files of cases, or else runs with --from-runs."
        raise InvalidInputError(problem, field="files")
    config = load_settings(asks=True, as_json=options.as_json, for_agents=True)
    screen = Screen.of_process()
    if options.from_runs:
        return _write_cases(options, config, screen)
    # Before there is an event loop, which a file of cases may want to run itself.
    suites = _read_suites(options, config, screen)
    return _evaluate(suites, options, config, screen)


class _Suite(NamedTuple):
    """The cases of a file, and their agent with what the options change about it."""

    file: str
    cases: list[Case]
    found: DiscoveredAgent
    definition: AgentDefinition[Any]
    live: bool
    """Whether a model is asked."""


def _read_suites(options: argparse.Namespace, config: MaverickConfig, screen: Screen) -> list[_Suite]:
    """The cases that were asked for, file by file."""
    if options.judge_model is not None:
        resolve(config.agent, wanted=options.judge_model).check()
    suites = []
    for file in options.files:
        cases, found = _read(file, options.agent, config)
        if options.only:
            cases = [case for case in cases if any(fnmatchcase(case.name, name) for name in options.only)]
        if cases:
            suites.append(_suite(file, cases, found, options, config, screen))
    if not suites:
        if options.only:
            raise InvalidInputError(f"No case has the name {', '.join(options.only)}.", field="only")
        raise InvalidInputError(f"There are no cases in {', '.join(options.files)}.", field="files")
    return suites


def _suite(
    file: str,
    cases: list[Case],
    found: DiscoveredAgent,
    options: argparse.Namespace,
    config: MaverickConfig,
    screen: Screen,
) -> _Suite:
    own, model = runnable(found, config), None
    live = options.model is not None or any(case.run is None for case in cases)
    if live and (answering := who_answers(found, own, options.model, config.agent)) is not None:
        model = answering.model
        if remark := explain_stand_in(answering):
            screen.remark(f"({remark})")
    # What all of it may cost is no limit of a single run.
    changes = RunOptions.from_options({**vars(options), "max_cost_usd": None})
    definition = changes.applied_to(own, model)
    return _Suite(file, cases, msgspec.structs.replace(found, agent=definition), definition, live)


def _read(file: str, agent: str | None, config: MaverickConfig) -> tuple[list[Case], DiscoveredAgent]:
    if split_source(file)[0].endswith(".py"):
        found = look_up(agent or file, config)
        names = found.namespace if agent is None else vars(load_python(split_source(file)[0], "file"))
        cases = names.get("cases")
        if not isinstance(cases, list) or not all(isinstance(case, Case) for case in cases):
            raise InvalidInputError(f"{file} has no cases. Write: cases = [Case(…), …]", field="cases")
        return cases, found
    here = Path.cwd()
    is_ours = Path(file).resolve().is_relative_to(here.resolve())
    written = CasesFile(Path(file), trusted=is_ours and Trust(persons_home()).covers_folder(here))
    named = agent or written.agent
    if named is None:
        problem = f"{file} names no agent. Add a line such as `agent: reporter`, or name one with --agent."
        raise InvalidInputError(problem, field="agent")
    return written.cases(), look_up(named, config)


async def _evaluate(
    suites: Sequence[_Suite], options: argparse.Namespace, config: MaverickConfig, screen: Screen
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
    suite: _Suite,
    options: argparse.Namespace,
    config: MaverickConfig,
    console: Console,
    stop: AbortSignal,
    spent: float,
) -> Report:
    left = None if options.max_cost_usd is None else max(options.max_cost_usd - spent, _LEAST)
    if options.compare is None:
        earlier = last_report(suite.file)
    else:
        earlier = report_in(options.compare, suite.definition.name)
    executing: AbstractAsyncContextManager[AgentExecutor]
    if suite.live:
        remark = console.screen.remark
        executing = agent_executor(suite.found, config, console.journal, mode=options.mode, on_remark=remark)
    else:
        executing = replaying_executor(suite.definition, console.journal, config.agent)
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
        changes = {}
        if earlier is not None:
            changes = {"regressions": report.regressions(earlier), "fixed": report.fixed(earlier)}
        console.write({"file": suite.file, **msgspec.json.decode(report.to_json()), **changes})
    else:
        _show(console, suite.file, report, earlier)
    return report


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
    bar = Progress(sys.stderr, lambda: True)
    has_bar = sys.stderr.isatty() and not console.as_json

    def on_attempt(name: str, attempt: Attempt) -> None:
        done.append(attempt.status)
        filled = _BAR * len(done) // total
        failed = sum(status is not Status.PASSED for status in done)
        drawn = f"{'█' * filled}{'░' * (_BAR - filled)} {len(done)}/{total}"
        bar.note(f"{drawn}{f', {failed} failed' if failed else ''}")
        if not has_bar and not console.as_json:
            console.screen.remark(f"[{len(done)}/{total}] {attempt.status.value}: {name}")

    bar.doing("evaluating")
    async with bar if has_bar else nullcontext():
        yield on_attempt


async def _write_cases(options: argparse.Namespace, config: MaverickConfig, screen: Screen) -> None:
    location = options.journal or config.journal.get_secret_value()
    async with open_journal(location, create=False) as journal:
        agents = {(await journal.get(run_id)).agent for run_id in options.from_runs}
        if len(agents) > 1:
            problem = f"These are runs of several agents: {', '.join(sorted(agents))}. Write a file for each."
            raise InvalidInputError(problem, field="runs")
        named = options.agent or agents.pop()
        definition = runnable(look_up(named, config), config)
        async with replaying_executor(definition, journal, config.agent) as executor:
            cases = [
                case_from_result(run_id, await recorded_result(executor, run_id, definition))
                for run_id in options.from_runs
            ]
    screen.say(_HEADER + dump_cases(CasesForm(agent=named, cases=cases)))


def last_report(file: str) -> Report | None:
    """The last evaluation of a file of cases, if there was one that can still be read."""
    try:
        return Report.from_json(_place(file).read_bytes())
    except (OSError, InvalidInputError, ConfigError):  # it is for comparison only
        return None


def keep_report(file: str, report: Report) -> None:
    """Keep an evaluation; of cases that were not run, what is known stays.

    A folder that cannot be written to is no reason to fail: the next evaluation has less to compare with.
    """
    try:
        replace_file(_place(file), report.updating(last_report(file)).to_json())
    except (OSError, ConfigError):
        return


def report_in(file: str, agent: str) -> Report:
    """The report on an agent in a file that ``maverick eval --json`` has written."""
    try:
        lines = Path(file).read_bytes().splitlines()
    except OSError as error:
        problem = f"--compare: {file} could not be read: {error.strerror}."
        raise InvalidInputError(problem, field="compare") from error
    reports = [Report.from_json(line) for line in lines if line.strip()]
    for report in reports:
        if report.agent == agent:
            return report
    raise InvalidInputError(f"--compare: {file} has no evaluation of the agent {agent!r}.", field="compare")


def _place(file: str) -> Path:
    path = Path(file).resolve()
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return own_folder() / "evals" / f"{path.stem}-{digest}.json"
