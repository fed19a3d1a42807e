"""Hooks, output validators and JSON Schemas as an editor knows them: checked by mypy and pyright, not run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_type

from pydantic import BaseModel

from maverick import (
    AgentDefinition,
    AgentExecutor,
    AgentResult,
    Hooks,
    OutputConfig,
    Refuse,
    RetryOutput,
    ToolContext,
)
from maverick.model import Request, Response, StructuredResult, ToolCall


@dataclass
class Deps:
    tenant: str


class Guard(Hooks):
    async def before_model(self, request: Request, ctx: ToolContext[Deps]) -> str | Refuse | None:
        return f"The tenant is {ctx.deps.tenant}." if len(request.messages) == 1 else None

    def after_model(self, response: Response, context: ToolContext) -> Refuse | None:
        return Refuse("No gold.") if "gold" in response.content else None

    async def before_tool(self, call: ToolCall, ctx: ToolContext) -> Mapping[str, Any] | None:
        return {**call.arguments, "limit": 10}

    def after_tool(self, call: ToolCall, result: StructuredResult, ctx: ToolContext) -> str:
        return result.text.upper()


class Report(BaseModel):
    summary: str


async def short(report: Report, ctx: ToolContext[Deps]) -> None:
    if len(report.summary) > 100:
        raise RetryOutput("Write one sentence.")


def signed(report: Report, ctx: ToolContext[Deps]) -> Report:
    return Report(summary=f"{report.summary} ({ctx.deps.tenant})")


async def checked(executor: AgentExecutor) -> None:
    typed = AgentDefinition(
        name="reporter",
        description="Reports.",
        output_config=OutputConfig("report", Report, validators=[short, signed]),
    )
    named = AgentDefinition("r", "Reports.", output_config=OutputConfig(schema=Report, validators=[short]))
    plain = AgentDefinition(
        "clerk", "Fills in forms.", output_config=OutputConfig("form", {"type": "object"}, max_repairs=1)
    )
    assert_type(await executor.execute(typed), AgentResult[Report])
    assert_type(await executor.execute(named), AgentResult[Report])
    assert_type(await executor.execute(plain), AgentResult[dict[str, Any]])
    AgentExecutor(hooks=[Guard()])
