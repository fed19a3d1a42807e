"""The type of an agent, as it is inferred from the type of its output: checked by mypy and pyright, not run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, assert_type

from pydantic import BaseModel
from typing_extensions import TypedDict

from maverick import AgentDefinition, OutputConfig, define_agent


class Report(BaseModel):
    summary: str


class Refusal(BaseModel):
    why: str


class Item(TypedDict):
    name: str


@dataclass
class Point:
    x: int


assert_type(AgentDefinition("a", "A.", output_config=OutputConfig("o", Report)), AgentDefinition[Report])
assert_type(
    AgentDefinition(
        name="a", description="A.", output_config=OutputConfig(output_name="o", schema=Report | Refusal)
    ),
    AgentDefinition[Report | Refusal],
)
assert_type(OutputConfig("o", int), OutputConfig[int])
assert_type(OutputConfig("o", Report | None), OutputConfig[Report | None])
assert_type(OutputConfig("o", list[Item]), OutputConfig[list[Item]])
assert_type(OutputConfig("o", Item), OutputConfig[Item])
assert_type(OutputConfig("o", Point), OutputConfig[Point])
assert_type(OutputConfig("o", Literal["yes", "no"]), OutputConfig[Literal["yes", "no"]])
assert_type(define_agent("a"), AgentDefinition[str])
assert_type(define_agent("a", output=Report | Refusal), AgentDefinition[Report | Refusal])
assert_type(define_agent("a", output={"type": "object"}), AgentDefinition[dict[str, Any]])
assert_type(define_agent("a", tools=["b"], output=OutputConfig("o", Report)), AgentDefinition[Report])
