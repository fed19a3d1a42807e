"""The short way to a definition makes the same definition."""

from __future__ import annotations

import pytest

from maverick import (
    AgentDefinition,
    ModelConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
    define_agent,
    run_sync,
    tool,
)
from maverick.exceptions import InvalidInputError


@tool(effect="pure")
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def test_it_is_the_definition_that_its_parts_would_make() -> None:
    long = AgentDefinition(
        name="counter",
        description="counter",
        prompt_config=PromptConfig(system_prompt="You count.", initial_messages=["Count ${what}."]),
        model_config=ModelConfig(model="offline:"),
        run_config=RunConfig(max_turns=3),
        tool_config=ToolConfig(tools=[double]),
    )

    short = define_agent(
        "counter",
        "You count.",
        messages=["Count ${what}."],
        model="offline:",
        tools=[double],
        limits=RunConfig(max_turns=3),
    )

    for part in (
        "name",
        "description",
        "prompt_config",
        "model_config",
        "run_config",
        "tool_config",
        "inputs",
    ):
        assert getattr(short, part) == getattr(long, part)


def test_an_output_type_makes_the_answer_a_value() -> None:
    result = run_sync(
        define_agent("teller", model="offline:", output=int), inputs={"prompt": "Six by seven?"}
    )

    assert isinstance(result.unwrap(), int)


def test_a_name_alone_is_an_agent() -> None:
    assert define_agent("teller").description == "teller"


def test_a_wrong_part_is_named() -> None:
    with pytest.raises(InvalidInputError, match="a letter, then up to 63"):
        define_agent("two words")
