"""Mistakes in imports and definitions."""

# mypy: disable-error-code="call-arg,arg-type,call-overload,attr-defined,var-annotated,misc"
# These are mistakes.

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from maverick import (
    AgentDefinition,
    ModelConfig,
    RunConfig,
    tool,
)
from mistakes.catalog import mistake


class Report(BaseModel):
    summary: str


@tool(effect="pure")
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return f"sunny in {city}"


def define(**parts: Any) -> AgentDefinition[Any]:
    return AgentDefinition(**{"name": "reporter", "description": "Writes a report.", **parts})


@mistake("no 'Agent'", "from maverick import AgentDefinition, AgentExecutor")
def a_class_named_agent() -> None:
    from maverick import Agent  # noqa: F401


@mistake("no 'ScriptedClient'", "from maverick.testing import ScriptedClient")
def a_name_of_another_module() -> None:
    from maverick import ScriptedClient  # noqa: F401


@mistake("no 'RateLimitError'", "from maverick.exceptions import RateLimitError")
def an_exception_at_the_top() -> None:
    from maverick import RateLimitError  # noqa: F401


@mistake("no 'AgentDefintion'", "Did you mean 'AgentDefinition'?")
def a_mistyped_name() -> None:
    from maverick import AgentDefintion  # noqa: F401


@mistake("AgentDefinition()", "'nmae'", "Did you mean 'name'?")
def a_mistyped_argument() -> None:
    AgentDefinition(nmae="reporter", description="Writes a report.")


@mistake("AgentDefinition()", "description is missing", "Add description=")
def no_description() -> None:
    AgentDefinition(name="reporter")


@mistake("'tools'", "tool_config=ToolConfig(tools=…)")
def tools_of_a_definition() -> None:
    define(tools=[get_weather])


@mistake("'instructions'", "prompt_config=PromptConfig(system_prompt=…)")
def instructions_as_other_libraries_call_them() -> None:
    define(instructions="Be brief.")


@mistake("'output_type'", "output_config=OutputConfig(schema=…)")
def output_type_as_other_libraries_call_it() -> None:
    define(output_type=Report)


@mistake("ModelConfig()", "'max_token'", "Did you mean 'max_tokens'?")
def a_mistyped_model_setting() -> None:
    ModelConfig(model="offline:", max_token=100)


@mistake("'max_tokens'", "model_config=ModelConfig(max_tokens=…)")
def a_model_setting_among_the_limits() -> None:
    RunConfig(max_tokens=100)


@mistake("name: expected", "letters, digits", "'weather reporter'")
def a_name_with_a_space() -> None:
    define(name="weather reporter")
