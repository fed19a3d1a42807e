"""Evals as an editor sees them: checked by mypy and by pyright in strict mode, not run."""

from __future__ import annotations

from typing import assert_type

from pydantic import BaseModel

from maverick import AgentDefinition, AgentExecutor, AgentResult, OutputConfig
from maverick.evals import (
    AnyCheck,
    Case,
    CheckVerdict,
    Report,
    calls,
    contains,
    equals,
    evaluate,
    judge,
    load_cases,
    schema,
)


class Forecast(BaseModel):
    city: str


AGENT = AgentDefinition(
    name="forecaster", description="Forecasts.", output_config=OutputConfig("forecast", Forecast)
)


def is_brest(result: AgentResult[Forecast]) -> bool:
    return result.unwrap().city == "Brest"


async def reason(result: AgentResult[Forecast]) -> CheckVerdict:
    return CheckVerdict(result.success, "because")


async def evals(executor: AgentExecutor) -> None:
    own: list[AnyCheck] = [
        is_brest,
        reason,
        lambda result: result.success,
        judge("Is polite.", model="claude:claude-sonnet-5-5"),
    ]
    case = Case(
        "brest",
        inputs={"city": "Brest"},
        checks=[
            contains("sunny"),
            calls("get_weather", city="Brest"),
            equals({"city": "Brest"}),
            schema(Forecast),
            is_brest,
        ],
    )
    report = await evaluate(
        AGENT, [case, Case("x", run="run_1", checks=[*own]), *load_cases("cases.yaml")], executor=executor
    )
    assert_type(report, Report)
    assert_type(report.cases[0].pass_rate, float | None)
