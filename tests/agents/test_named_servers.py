"""Agents that name MCP servers: in files, and as definitions that are used like classes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from maverick import AgentDefinition, PromptConfig, ToolConfig
from maverick.agents import AgentContext
from maverick.agents.markdown import AgentFile, read_agent
from maverick.agents.named_tools import CODING_TOOLS, servers_named
from maverick.agents.registry import DefinitionAgent
from maverick.config import MaverickConfig
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.model.untrusted import mark_untrusted
from maverick.testing import ScriptedClient, call, reply

SHOP = Path(__file__).parent.parent / "tools" / "mcp" / "shop_server.py"


def written(folder: Path, settings: str, *, claude: bool = False) -> AgentFile:
    file = folder / (".claude" if claude else ".maverick") / "agents" / "clerk.md"
    file.parent.mkdir(parents=True)
    file.write_text(f"---\nname: clerk\ndescription: Works.\n{settings}\n---\nWork.\n", encoding="utf-8")
    return read_agent(file)


@pytest.mark.requirement("MCP-CONFIG")
@pytest.mark.parametrize("claude", [True, False])
@pytest.mark.parametrize(
    ("settings", "tools"),
    [
        ("mcpServers: [wiki, shop]", (*CODING_TOOLS, "mcp__wiki", "mcp__shop")),
        ("mcpServers: wiki, shop", (*CODING_TOOLS, "mcp__wiki", "mcp__shop")),
        ("tools: []\nmcpServers: [wiki]", ("mcp__wiki",)),
        ("tools: [mcp__wiki__search]\nmcpServers: [wiki, shop]", ("mcp__wiki__search", "mcp__shop")),
        ("tools: [mcp__wiki]\nmcpServers: [wiki]", ("mcp__wiki",)),
        ("mcpServers:", CODING_TOOLS),
    ],
)
def test_a_file_names_servers_and_has_all_their_tools_or_those_it_lists(
    settings: str, tools: tuple[str, ...], claude: bool, tmp_path: Path
) -> None:
    read = written(tmp_path, settings, claude=claude)

    assert read.definition.tool_config.tools == tools
    assert read.missing_tools == ()


def test_a_file_of_ours_may_name_a_tool_of_a_server_alone(tmp_path: Path) -> None:
    read = written(tmp_path, "tools: [read_file, mcp__wiki__search]")

    assert servers_named(read.definition) == ["wiki"]


@pytest.mark.requirement("MCP-CONSENT")
def test_a_server_that_a_file_for_claude_code_defines_itself_is_missing(tmp_path: Path) -> None:
    settings = "tools: Read, mcp__other__x\nmcpServers:\n  - wiki\n  - evil: {command: sh}"

    read = written(tmp_path, settings, claude=True)

    assert read.definition.tool_config.tools == ("read_file", "mcp__wiki")
    assert read.missing_tools == ("mcp__other__x", "mcp__evil")


@pytest.mark.parametrize("servers", ["{evil: {command: sh}}", "[{evil: {command: sh}}]", "3"])
def test_anything_but_names_is_refused_with_the_line(servers: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="line 4: mcpServers: expected names"):
        written(tmp_path, f"mcpServers: {servers}")


def test_the_servers_of_subagents_are_named_too() -> None:
    inner = AgentDefinition(
        "inner", "x", prompt_config=PromptConfig("", ["x"]), tool_config=ToolConfig(tools=["mcp__wiki"])
    )
    outer = AgentDefinition(
        "outer", "x", tool_config=ToolConfig(tools=[inner.as_tool(), "mcp__shop__sell", "grep"])
    )

    assert servers_named(outer) == ["wiki", "shop"]


@pytest.mark.requirement("MCP-CONFIG")
async def test_a_definition_that_is_used_like_a_class_has_its_servers_for_each_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    spec, settings = tmp_path / "spec.json", tmp_path / ".maverick"
    spec.write_text(json.dumps({"tools": {"sell": "Sells."}}), encoding="utf-8")
    settings.mkdir()
    (settings / "permissions.yaml").write_text("allow: [mcp__shop__*]\n", encoding="utf-8")
    servers = {"shop": {"command": sys.executable, "args": [str(SHOP), str(spec)]}}
    definition = AgentDefinition("clerk", "Sells.", tool_config=ToolConfig(tools=["mcp__shop"]))
    agent = DefinitionAgent(
        definition, client=ScriptedClient([call("mcp__shop__sell", text="tea"), reply("Sold.")])
    )
    context = AgentContext(tmp_path, "main", MaverickConfig(), {"prompt": "sell"})

    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    with pytest.raises(ConfigError, match="run: maverick trust"):
        await agent.execute(context)
    (settings / "config.yaml").write_text(json.dumps({"mcp": servers}), encoding="utf-8")
    result = await agent.execute(context)

    assert result.output == "Sold."
    assert result.tool_calls[0].result == mark_untrusted("mcp__shop__sell", "tea")
