"""What each check says of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from evals.weather import REPORTER, executor
from maverick import AgentDefinition, AgentExecutor, AgentResult, OutputConfig, RunConfig
from maverick.evals import (
    AnyCheck,
    Case,
    CheckResult,
    CheckVerdict,
    Status,
    calls,
    contains,
    ends,
    equals,
    evaluate,
    judge,
    matches,
    max_cost,
    max_turns,
    not_calls,
    not_contains,
    schema,
)
from maverick.exceptions import InvalidInputError, RateLimitError
from maverick.model import Request
from maverick.testing import ScriptedClient, reply

PASSED, FAILED, ERROR = Status.PASSED, Status.FAILED, Status.ERROR


class Forecast(BaseModel):
    city: str
    degrees: int


async def checked(
    *checks: AnyCheck, agent: AgentDefinition[Any] = REPORTER, **options: Any
) -> Sequence[CheckResult]:
    """What checks say of the run that looks up the weather in Brest."""
    given = {"executor": executor(), **options}
    report = await evaluate(agent, [Case("brest", {"city": "Brest"}, checks)], **given)
    return report.cases[0].attempts[0].checks


async def a_coroutine(result: AgentResult[str]) -> bool:
    return result.unwrap() != ""


def asserts(result: AgentResult[str]) -> bool:
    assert "rain" in result.unwrap(), "no rain"
    return True


def breaks(result: AgentResult[str]) -> bool:
    raise KeyError("secret plan")


@pytest.mark.requirement("EVAL-CHECKS")
@pytest.mark.parametrize(
    ("check", "status", "reason"),
    [
        (equals("It is sunny in Brest. "), PASSED, ""),
        (equals("It is sunny."), FAILED, "The answer is 'It is sunny in Brest.'."),
        (contains("sunny", "Brest"), PASSED, ""),
        (contains("SUNNY", ignore_case=True), PASSED, ""),
        (contains("sunny", "rain"), FAILED, "Missing: 'rain'."),
        (not_contains("rain"), PASSED, ""),
        (not_contains("rain", "sunny"), FAILED, "Found: 'sunny'."),
        (matches(r"sunny in \w+"), PASSED, ""),
        (matches(r"^sunny"), FAILED, "The answer is"),
        (schema({"type": "object"}), FAILED, "not a valid answer"),
        (calls("get_weather"), PASSED, ""),
        (calls("get_weather", city="Brest"), PASSED, ""),
        (calls("get_weather", city="Lyon"), FAILED, "Calls made: get_weather(city='Brest')."),
        (calls("get_weather", country=None), FAILED, "Calls made"),
        (not_calls("send_mail"), PASSED, ""),
        (not_calls("get_weather", city="Lyon"), PASSED, ""),
        (not_calls("get_weather"), FAILED, "It called get_weather(city='Brest')."),
        (max_turns(2), PASSED, ""),
        (max_turns(1), FAILED, "It took 2."),
        (max_cost(0.02), PASSED, ""),
        (max_cost(0.01), FAILED, "It cost $0.0200."),
        (ends("complete"), PASSED, ""),
        (ends("refused"), FAILED, "It ended with complete."),
        (a_coroutine, PASSED, ""),
        (asserts, FAILED, "no rain"),
        (breaks, ERROR, "It raised KeyError: 'secret plan'"),
        (lambda result: CheckVerdict(passed=False, reason="Because."), FAILED, "Because."),
        (lambda result: None, ERROR, "It returned None. Return True or False, or a CheckVerdict."),
    ],
    ids=lambda value: getattr(value, "name", None) or getattr(value, "__name__", None),
)
async def test_a_check_says_whether_a_run_passes_and_why_not(
    check: AnyCheck, status: Status, reason: str
) -> None:
    (result,) = await checked(check)

    assert result.status is status, result
    assert reason in result.reason


@pytest.mark.requirement("EVAL-CHECKS")
async def test_typed_answers_are_compared_as_values_and_as_json() -> None:
    agent = AgentDefinition(
        name="typed",
        description="Forecasts.",
        prompt_config=REPORTER.prompt_config,
        output_config=OutputConfig("forecast", Forecast),
    )
    client = ScriptedClient(['{"city": "Brest", "degrees": 21}'])

    found = await checked(
        equals(Forecast(city="Brest", degrees=21)),
        equals({"city": "Brest", "degrees": 21}),
        equals({"city": "Brest", "degrees": 22}),
        schema(Forecast),
        schema({"type": "object", "required": ["rain"]}),
        contains("Brest"),
        agent=agent,
        executor=AgentExecutor(client),
    )

    assert [each.status for each in found] == [PASSED, PASSED, FAILED, PASSED, FAILED, PASSED]


@pytest.mark.requirement("EVAL-CHECKS")
async def test_a_run_that_fails_passes_only_if_a_check_says_how_it_ends() -> None:
    short = AgentDefinition(
        name="short",
        description="Has one turn.",
        tool_config=REPORTER.tool_config,
        prompt_config=REPORTER.prompt_config,
        run_config=RunConfig(max_turns=1),
    )
    cases = [
        Case("succeeds", {"city": "Brest"}, [calls("get_weather")]),
        Case("ends", {"city": "Brest"}, [calls("get_weather"), ends("max_turns")]),
    ]

    report = await evaluate(short, cases, executor=executor())

    assert [case.passed for case in report.cases] == [False, True]
    assert "turn" in report.cases[0].attempts[0].error


@pytest.mark.requirement("EVAL-JUDGE")
async def test_a_judge_sees_the_run_as_data_and_its_verdict_is_typed() -> None:
    client = ScriptedClient(['{"passed": false, "reason": "It names no temperature."}'])

    (result,) = await checked(judge("Names a temperature.", model=client))

    assert (result.status, result.reason) == (FAILED, "It names no temperature.")
    asked = client.requests[0].messages[0].content
    assert asked.startswith("Rubric: Names a temperature.")
    assert '<untrusted from="the answer"' in asked
    assert "get_weather({'city': 'Brest'})" in asked


@pytest.mark.requirement("EVAL-JUDGE")
@pytest.mark.parametrize(
    "script", [["I would rather not say."] * 3, [RateLimitError("Slow down.", retry_after=0)] * 9]
)
async def test_a_judge_without_a_verdict_is_an_error_and_not_a_pass(script: Any) -> None:
    (result,) = await checked(judge("Is polite."), judge_model=ScriptedClient(script))

    assert result.status is ERROR
    assert result.reason


@pytest.mark.requirement("EVAL-JUDGE")
async def test_without_a_model_of_its_own_a_judge_uses_the_agents() -> None:
    def answers(request: Request) -> Any:
        is_judge = request.messages[0].content.startswith("Rubric")
        return reply('{"passed": true, "reason": "Yes."}' if is_judge else "Sunny.")

    (result,) = await checked(judge("Is polite."), executor=AgentExecutor(ScriptedClient(answers)))

    assert result.status is PASSED


@pytest.mark.requirement("EVAL-CHECKS")
@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: matches("("), "not a regular expression"),
        (lambda: ends("well"), "expected one of complete"),
        (lambda: judge(" "), "expected a rubric"),
        (lambda: schema({"type": "thing"}), "Correct the schema"),
        (lambda: Case("x", checks=["sunny"]), "expected checks such as"),  # type: ignore[list-item]  # deliberately wrong
        (lambda: Case("x", None, contains("sunny")), "checks: expected a list"),  # type: ignore[arg-type]  # deliberately wrong
        (lambda: Case(""), "name"),
        (lambda: Case("x", {"city": "Brest"}, run="y"), "its own inputs"),
        (lambda: Case("x", min_pass_rate=2), "from 0 to 1"),
    ],
)
def test_a_wrong_check_or_case_is_refused_with_what_to_write(make: Any, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem.replace("(", r"\(")):
        make()


@pytest.mark.requirement("EVAL-CHECKS")
@pytest.mark.parametrize(
    ("cases", "problem"),
    [
        (Case("a", {"city": "Brest"}, [contains("sunny")]), "cases: expected a list"),
        ([Case("a", {"city": "Brest"})], "Case 'a' has no checks"),
        ([Case("a", {"city": "Brest"}, [not_calls("send_mails")])], "Did you mean 'send_mail'"),
    ],
)
async def test_cases_that_could_not_fail_are_refused(cases: Any, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        await evaluate(REPORTER, cases, executor=executor())


@pytest.mark.requirement("EVAL-CHECKS", "EVAL-INPUT")
async def test_a_regular_expression_that_takes_forever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maverick.evals.checks._LONGEST_SEARCH", 0.5)
    client = ScriptedClient([reply("a" * 64 + "!")])

    (result,) = await checked(matches("^(a+)+$"), executor=AgentExecutor(client))

    assert result.status is ERROR
    assert "takes too long" in result.reason
