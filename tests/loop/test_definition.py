"""Definitions are checked in full when they are made; an error names the field that is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, cast

import pytest
from pydantic import BaseModel

from maverick import (
    AgentDefinition,
    Input,
    InputConfig,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
    tool,
)
from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.loop import Limits
from maverick.model import Message, Tool


@tool
async def search(query: str) -> str:
    """Search."""
    return query


class Report(BaseModel):
    summary: str


class Clock:
    name = "clock"
    description = "Tells the time."
    parameters: ClassVar[dict[str, Any]] = {"type": "object"}

    async def execute(self, args: dict[str, Any]) -> str:
        return "noon"


class NoParameters(Clock):
    parameters: ClassVar[dict[str, Any]] = {}


@pytest.mark.requirement("003-FR1", "003-FR1-AC1")
def test_a_definition_holds_all_eight_parts_of_the_specification() -> None:
    parts: dict[str, Any] = {
        "name": "reporter",
        "description": "Writes reports.",
        "prompt_config": PromptConfig("You write for ${audience}.", ["Report on ${topic}."]),
        "model_config": ModelConfig("offline:", temperature=0.5, max_tokens=100),
        "run_config": RunConfig(max_turns=3, timeout_ms=1000),
        "tool_config": ToolConfig([search]),
        "input_config": InputConfig({"audience": str, "topic": Input(str, "What about.")}),
        "output_config": OutputConfig("report", Report),
    }
    definition: AgentDefinition[Report] = AgentDefinition(**parts)

    assert {name: getattr(definition, name) for name in parts} == parts


@pytest.mark.requirement("003-FR1")
def test_a_name_and_a_description_are_enough() -> None:
    definition = AgentDefinition("helper", "Helps.")

    assert list(definition.inputs) == ["prompt"]
    assert definition.render({"prompt": "Help!"}) == ("", (Message.user("Help!"),))
    assert definition.output_config is None


@pytest.mark.requirement("003-G2")
def test_run_settings_are_the_limits_of_the_run() -> None:
    settings = RunConfig(max_turns=3, timeout_ms=1500, max_tool_calls=0, max_total_tokens=9, max_cost_usd=0.5)

    assert settings.limits == Limits(turns=3, seconds=1.5, tokens=9, cost_usd=0.5, tool_calls=0)
    assert RunConfig(max_turns=None, timeout_ms=None).limits == Limits()


@pytest.mark.parametrize(
    "part", [PromptConfig(), ModelConfig(), RunConfig(), ToolConfig(), AgentDefinition("a", "b")]
)
def test_configuration_can_not_be_changed_after_it_was_checked(part: Any) -> None:
    first = dataclasses.fields(part)[0].name

    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(part, first, "changed")


def test_what_a_list_holds_later_does_not_change_the_definition() -> None:
    messages: list[str | Message] = ["Hello."]
    tools: list[Tool | str] = [search]
    prompt, offered = PromptConfig(initial_messages=messages), ToolConfig(tools)
    messages.append("${surprise}")
    tools.append("surprise")

    assert prompt.initial_messages == ("Hello.",)
    assert offered.tools == (search,)


BAD_VALUES: list[tuple[Callable[..., Any], str, list[Any]]] = [
    (PromptConfig, "system_prompt", [None, 3, ["You help."]]),
    (PromptConfig, "initial_messages", ["Hello.", [], (), None, 5, iter(["Hello."])]),
    (
        ModelConfig,
        "model",
        ["", "  ", 3, "claude:", "claude: ", "openai:", "claude-sdk:", "local:", "cassette:"],
    ),
    (ModelConfig, "temperature", [-0.1, 2.1, float("nan"), "hot", True]),
    (ModelConfig, "max_tokens", [-1, 1.5, "many", True]),
    (ModelConfig, "effort", ["huge", 3, True]),
    (ModelConfig, "thinking", [0, -1, "on", True]),
    (ModelConfig, "stop_sequences", ["END", [""], [3]]),
    (ModelConfig, "tool_choice", ["", 3, True]),
    (ModelConfig, "top_p", [0, 1.1, "most", True]),
    (ModelConfig, "cache", ["2h", 5, True]),
    (ModelConfig, "server_tools", ["web_search", [3], True]),
    (ModelConfig, "extra", [[], "x", {1: 2}]),
    (ModelConfig, "context_window", [0, 999, 1e6, "wide", True]),
    (ModelConfig, "request_timeout", [0, -1, float("inf"), "soon", True]),
    (RunConfig, "max_turns", [0, -1, 1.5, "many", True]),
    (RunConfig, "timeout_ms", [0, -1, 1.5, "soon", True]),
    (RunConfig, "max_tool_calls", [-1, 1.5, "many", True]),
    (RunConfig, "max_calls_per_turn", [0, -1, 1.5, "many", True]),
    (RunConfig, "max_total_tokens", [0, -1, 1.5, "many", True]),
    (RunConfig, "max_cost_usd", [0, -0.1, float("nan"), "cheap", True]),
    (RunConfig, "max_retries", [-1, 1.5, "many", True, None]),
    (RunConfig, "timeout", [0, -0.1, float("nan"), "soon", True]),
    (RunConfig, "retry_delay", [-1, float("nan"), "soon", True, None]),
    (ToolConfig, "tools", ["search", None, 3]),
    (ToolConfig, "max_parallel", [0, -1, 1.5, "many", True, None]),
    (ToolConfig, "timeout", [0, -1, float("inf"), "soon", True, None]),
    (ToolConfig, "max_output", [0, 99, 1e6, "much", True, None]),
    (ToolConfig, "defer", ["send", 3, [3], {"send": True}]),
    (InputConfig, "inputs", [None, 3, ["topic"], {"topic": 3}, {"two words": str}, {3: str}]),
    (OutputConfig, "output_name", ["", " ", None, 3]),
    (OutputConfig, "max_repairs", [-1, 1.5, "many", True, None]),
    (OutputConfig, "validators", [None, print, [3], [lambda: None], [lambda output: None]]),
    (OutputConfig, "schema", ["Report", 3, object(), Callable[[], int]]),
]
PREFIX = {
    PromptConfig: "prompt_config",
    ModelConfig: "model_config",
    RunConfig: "run_config",
    ToolConfig: "tool_config",
    InputConfig: "input_config",
    OutputConfig: "output_config",
}


@pytest.mark.requirement("003-FR1-AC2")
@pytest.mark.parametrize(
    ("config", "field", "value"),
    [(config, field, value) for config, field, values in BAD_VALUES for value in values],
)
def test_a_bad_value_is_refused_with_the_name_of_its_field(
    config: Callable[..., Any], field: str, value: Any
) -> None:
    others = {"output_name": "report", "schema": Report} if config is OutputConfig else {}

    with pytest.raises(InvalidInputError) as caught:
        config(**others | {field: value})

    expected = f"{PREFIX[cast('Any', config)]}.{field}"
    assert caught.value.field == expected
    assert expected in str(caught.value)


def test_every_setting_has_its_bad_values() -> None:
    listed = {(config, field) for config, field, _ in BAD_VALUES}
    settings = {
        (config, field.name) for config in PREFIX for field in dataclasses.fields(config) if field.init
    }

    assert listed == settings | {(RunConfig, "timeout")}  # which is not kept, but becomes timeout_ms


@pytest.mark.requirement("003-FR1-AC2")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", None),
        ("name", "two words"),
        ("name", "9lives"),
        ("name", "x" * 65),
        ("name", "naïve"),
        ("description", ""),
        ("description", None),
        ("prompt_config", "You help."),
        ("model_config", "offline:"),
        ("run_config", {"max_turns": 3}),
        ("run_config", None),
        ("tool_config", [search]),
        ("input_config", {"topic": str}),
        ("output_config", Report),
    ],
)
def test_a_bad_part_of_a_definition_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=field) as caught:
        AgentDefinition(**{"name": "helper", "description": "Helps."} | {field: value})

    assert caught.value.field == field


@pytest.mark.requirement("003-FR1-AC2")
@pytest.mark.parametrize("message", ["", "  ", None, 3])
def test_a_bad_message_is_refused_with_its_place(message: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        PromptConfig(initial_messages=["Hello.", message])

    assert caught.value.field == "prompt_config.initial_messages[1]"


def plain(query: str) -> str:
    return query


@pytest.mark.requirement("003-FR1-AC2")
@pytest.mark.parametrize(
    ("offered", "advice"),
    [
        (plain, "@tool"),
        (AgentDefinition("helper", "Helps."), "as_tool()"),
        (3, "it has no name, description, parameters, execute"),
        (NoParameters(), '"type": "object"'),
        (Clock, "Clock"),
        (None, "it has no name, description, parameters, execute"),
        ("", "1 to 128 letters"),
        ("two words", "1 to 128 letters"),
        ("Bash(ls)", "1 to 128 letters"),
    ],
)
def test_what_is_no_tool_and_no_name_of_one_is_refused_with_its_place_and_advice(
    offered: Any, advice: str
) -> None:
    with pytest.raises(InvalidToolError) as caught:
        ToolConfig([search, offered])

    assert caught.value.field == "tool_config.tools[1]"
    assert "tool_config.tools[1]" in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.requirement("003-FR1-AC2")
@pytest.mark.parametrize("twin", [search, "search"])
def test_two_tools_of_one_name_are_refused(twin: Any) -> None:
    with pytest.raises(InvalidToolError, match="'search'"):
        ToolConfig([search, twin])


@pytest.mark.requirement("003-FR1-AC2")
@pytest.mark.parametrize(
    ("model", "advice"),
    [
        ("foo:bar", "no provider named 'foo'"),
        ("cluade:sonnet", "Did you mean 'claude'?"),
        (":claude-sonnet", "no provider named ''"),
        ("claude-sonnet", "'claude:claude-sonnet'"),
        ("offline", "'offline:'"),
        ("sonnet", "'provider:model'"),
    ],
)
def test_a_model_without_a_known_provider_is_refused_by_field(model: str, advice: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ModelConfig(model)

    assert caught.value.field == "model_config.model"
    assert str(caught.value).startswith("model_config.model: ")
    assert advice in str(caught.value)


def test_the_time_of_a_run_can_be_given_in_seconds_and_replaced() -> None:
    config = RunConfig(timeout=1.5, max_turns=3)

    assert (config, config.limits.seconds) == (RunConfig(timeout_ms=1500, max_turns=3), 1.5)
    assert dataclasses.replace(config, max_turns=4).timeout_ms == 1500
    assert dataclasses.replace(config, timeout_ms=None).timeout_ms is None
    assert dataclasses.replace(config, timeout=60).timeout_ms == 60_000
