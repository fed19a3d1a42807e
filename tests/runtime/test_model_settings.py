"""The settings of a model, from where they are set to the request: a definition's first, then the client's."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, ModelConfig, ToolConfig, connect
from maverick.cli.run_options import RunOptions
from maverick.config import AgentConfig
from maverick.config.model_settings import MODEL_SETTINGS
from maverick.exceptions import InvalidInputError
from maverick.model import RequestConfig
from maverick.model.client import RequestDefaults
from maverick.testing import ScriptedClient, call, reply

HI = {"prompt": "hi"}
EVERY: dict[str, Any] = {
    "max_tokens": 8000,
    "temperature": 0.5,
    "effort": "high",
    "thinking": "adaptive",
    "stop_sequences": ("END",),
    "tool_choice": "auto",
    "top_p": 0.5,
    "cache": "1h",
    "server_tools": ("web_search", {"type": "x"}),
    "extra": {"service_tier": "flex"},
}

pytestmark = pytest.mark.requirement("MODEL-SETTINGS")


def agent(*tools: Any, name: str = "helper", **settings: Any) -> AgentDefinition:
    return AgentDefinition(
        name=name,
        description="Helps.",
        model_config=ModelConfig(**settings),
        tool_config=ToolConfig(tools=tools),
    )


def settings_of(config: object) -> dict[str, Any]:
    return {name: getattr(config, name) for name in MODEL_SETTINGS}


async def test_every_setting_of_a_definition_is_in_its_requests() -> None:
    client = ScriptedClient([reply("ok")])

    await AgentExecutor(client).execute(agent(**EVERY), inputs=HI)

    assert settings_of(client.requests[0].config) == EVERY


async def test_what_a_definition_leaves_open_is_the_clients_also_for_a_subagent() -> None:
    client = ScriptedClient([call("child", prompt="go"), reply("done"), reply("ok")])
    client.defaults = RequestDefaults(RequestConfig(effort="low", thinking="off", max_tokens=50))
    child = agent(name="child", thinking="adaptive")

    await AgentExecutor(client).execute(agent(child.as_tool(), effort="max"), inputs=HI)

    asked = [request.config for request in client.requests]
    assert [(config.effort, config.thinking) for config in asked] == [
        ("max", "off"),
        ("low", "adaptive"),
        ("max", "off"),
    ]
    assert {config.max_tokens for config in asked} == {50}


def test_connect_takes_every_setting_and_checks_it() -> None:
    client = connect("claude:claude-opus-5-5", api_key="k", settings=AgentConfig(effort="low"), **EVERY)

    assert settings_of(client.defaults.config) == EVERY
    with pytest.raises(InvalidInputError, match="effort: expected 'low', 'medium', 'high' or 'max'"):
        connect("claude:claude-opus-5-5", api_key="k", settings=AgentConfig(), effort="huge")


def test_a_request_without_tools_gets_none_of_the_providers_by_default() -> None:
    defaults = RequestDefaults(RequestConfig(server_tools=("web_search",), tool_choice="required"))

    filled = defaults.completed(RequestConfig(tool_choice="none"))

    assert (filled.server_tools, filled.tool_choice) == ((), "none")


def test_the_command_line_replaces_the_settings_of_a_definition() -> None:
    options = RunOptions(settings={"effort": "max", "thinking": 2000})

    changed = options.applied_to(agent(effort="low", cache="1h"), "offline:").model_config

    assert changed == ModelConfig("offline:", effort="max", thinking=2000, cache="1h")
    assert options.words() == ["--effort", "max", "--thinking", "2000"]


def test_a_default_costs_a_request_nothing_that_has_all_of_it() -> None:
    config = RequestConfig(**EVERY)

    assert RequestDefaults(config).completed(config) is config
    assert dataclasses.replace(ModelConfig(**EVERY)) == ModelConfig(**EVERY)
