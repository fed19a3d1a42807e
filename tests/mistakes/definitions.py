"""Mistakes in imports and definitions."""

# mypy: disable-error-code="call-arg,arg-type,call-overload,attr-defined,var-annotated,misc,list-item"
# These are mistakes.

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from maverick import (
    AgentDefinition,
    InputConfig,
    ModelConfig,
    OutputConfig,
    PromptConfig,
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


@mistake("'timeout'", "run_config=RunConfig(timeout=…)")
def seconds_of_a_definition() -> None:
    define(timeout=60)


@mistake("ModelConfig()", "'max_token'", "Did you mean 'max_tokens'?")
def a_mistyped_model_setting() -> None:
    ModelConfig(model="offline:", max_token=100)


@mistake("'max_tokens'", "model_config=ModelConfig(max_tokens=…)")
def a_model_setting_among_the_limits() -> None:
    RunConfig(max_tokens=100)


@mistake("name: expected", "letters, digits", "'weather reporter'")
def a_name_with_a_space() -> None:
    define(name="weather reporter")


@mistake("model_config: expected a ModelConfig", "ModelConfig(model=", "got 'claude:claude-sonnet-5-5'")
def a_model_in_place_of_its_settings() -> None:
    define(model_config="claude:claude-sonnet-5-5")


@mistake("no provider named 'anthropic'", "write 'claude:…'")
def a_provider_by_the_name_of_its_company() -> None:
    ModelConfig(model="anthropic:claude-sonnet-5-5")


@mistake("does not say which provider", "'openai:gpt-6.1-sol'")
def a_model_without_a_provider() -> None:
    ModelConfig(model="gpt-6.1-sol")


@mistake("effort", "'low', 'medium', 'high' or 'max'", "got 'extreme'")
def an_effort_that_does_not_exist() -> None:
    ModelConfig(model="claude:claude-opus-5-5", effort="extreme")


@mistake("run_config.max_turns", "at least 1", "got 0")
def no_turns() -> None:
    RunConfig(max_turns=0)


@mistake("run_config.max_cost_usd", "above 0", "got -1")
def a_negative_budget() -> None:
    RunConfig(max_cost_usd=-1)


@mistake("initial_messages", "such as ['Hello!']", "got 'Report on Brest.'")
def one_message_in_place_of_a_list() -> None:
    PromptConfig(initial_messages="Report on Brest.")


@mistake("initial_messages[0]", "Message.user(…)")
def messages_as_dictionaries() -> None:
    PromptConfig(initial_messages=[{"role": "user", "content": "Hi!"}])


@mistake("'${user-name}' is not a variable", "Write ${name}")
def a_variable_that_is_no_name() -> None:
    define(prompt_config=PromptConfig(system_prompt="You help ${user-name}."))


@mistake("no input named 'city'", "Put ${city} into a prompt")
def braces_without_a_dollar() -> None:
    define(prompt_config=PromptConfig(initial_messages=["Report on {city}."])).render({"city": "Brest"})


@mistake("${city} is not declared in input_config", "declared are: town")
def a_variable_that_is_not_declared() -> None:
    define(
        prompt_config=PromptConfig(initial_messages=["Report on ${city}."]),
        input_config=InputConfig({"town": str}),
    )


@mistake("output_config: expected an OutputConfig", "OutputConfig(", "got the class Report")
def a_type_in_place_of_an_output_config() -> None:
    define(output_config=Report)


@mistake("output_config.schema", "give the class", "Report")
def an_instance_in_place_of_a_type() -> None:
    OutputConfig(output_name="report", schema=Report(summary="sunny"))


@mistake("output_config.schema", "Plain", "BaseModel")
def a_class_that_is_no_model() -> None:
    class Plain:
        summary: str

    OutputConfig(output_name="report", schema=Plain)
