"""What an editor knows of a run's result: checked by mypy and by pyright in strict mode, not run."""

from __future__ import annotations

from typing import assert_type

from pydantic import BaseModel

from maverick import AgentDefinition, AgentExecutor, AgentResult, OutputConfig, define_agent, run_sync


class Report(BaseModel):
    summary: str


TEXT = AgentDefinition(name="text", description="Answers in text.")
TYPED = AgentDefinition(
    name="typed", description="Answers with a report.", output_config=OutputConfig("report", Report)
)


async def results(executor: AgentExecutor) -> None:
    assert_type(await executor.execute(TEXT), AgentResult[str])
    assert_type(await executor.execute(TYPED), AgentResult[Report])
    assert_type((await executor.execute(TYPED)).unwrap(), Report)
    assert_type(run_sync(TYPED).output, Report | None)
    assert_type(await executor.execute(define_agent("text")), AgentResult[str])
    assert_type(await executor.execute(define_agent("typed", output=Report)), AgentResult[Report])
