"""Evaluations: many runs at once, repeats, budgets, stopping, recorded runs, and what a report says."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evals.weather import COST, REPORTER, answer, executor
from maverick import AbortSignal, AgentExecutor, SqliteJournal, ToolConfig
from maverick.evals import Attempt, Case, Report, Status, calls, contains, ends, evaluate, judge, max_turns
from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.journal import RunStatus
from maverick.model import Request
from maverick.testing import ScriptedClient, forbid_network, reply


def cities(*names: str) -> list[Case]:
    return [Case(name, {"city": name}, [contains(name)]) for name in names]


@pytest.mark.requirement("EVAL-RUN")
async def test_three_lines_evaluate_an_agent_in_a_test() -> None:
    case = Case(
        "brest", {"city": "Brest"}, [contains("sunny"), calls("get_weather", city="Brest"), max_turns(3)]
    )
    report = await evaluate(REPORTER, [case], executor=executor())
    assert report.passed, report


@pytest.mark.requirement("EVAL-RUN")
async def test_a_report_says_in_words_what_failed_and_in_which_run(tmp_path: Path) -> None:
    cases = [Case("brest", {"city": "Brest"}, [contains("rain")]), *cities("Lyon")]
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        report = await evaluate(REPORTER, cases, executor=executor(journal), repeat=2)

        runs = await journal.list_runs()

    assert not report.passed
    assert [case.pass_rate for case in report.cases] == [0.0, 1.0]
    failed = report.cases[0].attempts[0]
    assert str(report).splitlines()[:3] == [
        "1 of 2 cases passed.",
        f"brest ({failed.run_id})",
        "  failed: contains 'rain'. Missing: 'rain'. The answer is 'It is sunny in Brest.'.",
    ]
    assert {run.run_id for run in runs} == {each.run_id for case in report.cases for each in case.attempts}
    assert {run.status for run in runs} == {RunStatus.COMPLETE}
    assert report.cost_usd == pytest.approx(8 * COST)
    assert Report.from_json(report.to_json()) == report


@pytest.mark.requirement("EVAL-RUN")
async def test_no_more_runs_at_once_than_allowed() -> None:
    now, most = 0, 0

    async def slow(request: Request) -> Any:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return answer(request)

    seen: list[str] = []
    report = await evaluate(
        REPORTER,
        cities(*"abcdefgh"),
        executor=AgentExecutor(ScriptedClient(slow)),
        concurrency=3,
        on_attempt=lambda name, _: seen.append(name),
    )

    assert report.passed
    assert 1 < most <= 3
    assert sorted(seen) == [*"abcdefgh"]


@pytest.mark.requirement("EVAL-REPEAT")
@pytest.mark.parametrize(("needed", "passes"), [(1.0, False), (0.5, True)])
async def test_a_case_passes_when_enough_of_its_repetitions_do(needed: float, passes: bool) -> None:
    client = ScriptedClient([reply("yes"), reply("no")] * 2)
    case = Case("flaky", {"city": "Brest"}, [contains("yes")], min_pass_rate=needed)

    report = await evaluate(REPORTER, [case], executor=AgentExecutor(client), repeat=4)

    assert report.cases[0].pass_rate == 0.5
    assert report.passed is passes


@pytest.mark.requirement("EVAL-BUDGET")
async def test_a_budget_holds_for_all_of_it_judges_included() -> None:
    verdict = ScriptedClient(lambda _: reply('{"passed": true, "reason": ""}'))
    cases = [Case(name, {"city": name}, [judge("Fine.", model=verdict)]) for name in "abcdef"]

    report = await evaluate(REPORTER, cases, executor=executor(), concurrency=1, max_cost_usd=3.5 * COST)

    assert report.stopped == "the budget is spent"
    assert not report.passed
    assert [case.passed for case in report.cases[:2]] == [True, False]
    assert [len(case.attempts) for case in report.cases] == [1, 1, 0, 0, 0, 0]
    assert report.cases[1].attempts[0].status is Status.STOPPED
    assert (report.cost_usd or 0) <= 4 * COST + 1e-9


@pytest.mark.requirement("EVAL-STOP")
async def test_what_was_done_before_it_was_stopped_is_in_the_report() -> None:
    signal = AbortSignal()

    def stop(name: str, _: Attempt) -> None:
        if name == "b":
            signal.abort("enough")

    report = await evaluate(
        REPORTER, cities(*"abcd"), executor=executor(), concurrency=1, signal=signal, on_attempt=stop
    )

    assert report.stopped == "enough"
    assert [case.passed for case in report.cases] == [True, True, False, False]
    assert not report.passed


@pytest.mark.requirement("EVAL-RECORDED")
async def test_a_recorded_run_is_checked_without_a_model_and_forked_with_one(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        first = await evaluate(REPORTER, cities("Brest"), executor=executor(journal))
        run_id = first.cases[0].attempts[0].run_id
        cases = [Case("again", run=run_id, checks=[contains("sunny"), calls("get_weather", city="Brest")])]
        unasked = ScriptedClient([])
        with forbid_network():
            recorded = await evaluate(REPORTER, cases, executor=AgentExecutor(unasked, journal=journal))
        other = ScriptedClient([reply("Rain.")])
        live = await evaluate(REPORTER, cases, executor=AgentExecutor(other, journal=journal), live=True)
        forked = await journal.get(live.cases[0].attempts[0].run_id)

    assert recorded.passed, recorded
    assert unasked.requests == []
    assert recorded.cases[0].attempts[0].run_id == run_id
    assert recorded.cost_usd == 0
    assert [check.status for check in live.cases[0].attempts[0].checks] == [Status.FAILED, Status.PASSED]
    assert forked.forked_from == run_id
    assert len(other.requests) == 1
    assert other.requests[0].messages[-1].content == "sunny in Brest"


@pytest.mark.requirement("EVAL-RECORDED")
async def test_a_recorded_run_that_is_missing_is_an_error_of_its_case(tmp_path: Path) -> None:
    async with SqliteJournal(tmp_path / "runs.db") as journal:
        cases = [Case("gone", run="gone", checks=[ends("complete")]), *cities("Brest")]
        report = await evaluate(REPORTER, cases, executor=executor(journal))

    assert [case.passed for case in report.cases] == [False, True]
    assert "gone" in report.cases[0].attempts[0].error


@pytest.mark.requirement("EVAL-COMPARE")
async def test_a_report_names_what_got_worse_and_what_got_better() -> None:
    def report(**passed: bool) -> Report:
        checks = {True: contains("sunny"), False: contains("rain")}
        cases = [Case(name, {"city": name}, [checks[fine]]) for name, fine in passed.items()]
        return asyncio.run(evaluate(REPORTER, cases, executor=executor()))

    before, now = await asyncio.gather(
        asyncio.to_thread(report, a=True, b=False, c=True, gone=True),
        asyncio.to_thread(report, a=False, b=True, c=True, new=False),
    )

    assert now.regressions(before) == ["a"]
    assert now.fixed(before) == ["b"]
    assert [case.name for case in now.updating(before).cases] == ["gone", "a", "b", "c", "new"]


@pytest.mark.requirement("EVAL-INPUT")
@pytest.mark.parametrize(
    ("cases", "options", "problem"),
    [
        ([], {}, "no cases"),
        (cities("a", "a"), {}, "Two cases have the name 'a'"),
        ([Case("a", {"town": "a"})], {}, "Case 'a': .*city"),
        (cities("a"), {"repeat": 0}, "repeat: expected 1 or more"),
        (cities("a"), {"concurrency": 0}, "concurrency: expected 1 or more"),
    ],
)
async def test_wrong_input_is_refused_before_any_model_is_asked(
    cases: list[Case], options: dict[str, Any], problem: str
) -> None:
    client = ScriptedClient([])

    with pytest.raises(InvalidInputError, match=problem):
        await evaluate(REPORTER, cases, executor=AgentExecutor(client), **options)

    assert client.requests == []


@pytest.mark.requirement("EVAL-INPUT")
async def test_an_agent_that_cannot_run_is_reported_once_and_not_case_by_case() -> None:
    agent = replace(REPORTER, tool_config=ToolConfig(tools=["missing"]))

    with pytest.raises(InvalidToolError, match="missing"):
        await evaluate(agent, cities("a", "b"), executor=executor())


@pytest.mark.requirement("EVAL-JUDGE", "EVAL-INPUT")
async def test_a_judge_whose_model_is_wrong_is_reported_before_anything_runs() -> None:
    client = ScriptedClient(answer)
    case = Case("a", {"city": "a"}, [judge("Fine.", model="nowhere:model")])

    with pytest.raises(InvalidInputError, match="There is no provider named 'nowhere'"):
        await evaluate(REPORTER, [case], executor=AgentExecutor(client))

    assert client.requests == []
