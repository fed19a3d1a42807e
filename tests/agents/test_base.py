"""An agent as a class: how it is made, what it refuses, and what the CLI is started with."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="the extra claude-code is not installed")

import claude_agent_sdk
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    UserMessage,
)

from claude_cli.api import Greeter
from maverick import agents
from maverick.agents import (
    AgentContext,
    AgentRegistry,
    AgentResult,
    MaverickAgent,
    extract_all_text,
    extract_text,
)
from maverick.agents.base import BUILTIN_TOOLS, DEFAULT_MODEL, DEFAULT_PERMISSION_MODE
from maverick.config.installation import install_command
from maverick.exceptions import CLINotFoundError, InvalidInputError, InvalidToolError

SERVERS = {"lab": {"type": "stdio", "command": "lab"}}


def said(*blocks: Any) -> AssistantMessage:
    return AssistantMessage(content=list(blocks), model="claude-test")


@pytest.mark.requirement("000-FR-001", "000-FR-004", "000-SC-001")
def test_a_class_needs_execute_and_nothing_else() -> None:
    class Incomplete(MaverickAgent):
        pass

    with pytest.raises(TypeError, match="execute"):
        Incomplete("name", "prompt")  # type: ignore[abstract]  # that is the point

    agent = Greeter()
    assert (agent.name, agent.system_prompt, agent.allowed_tools) == (
        "greeter",
        "You greet people.",
        ["Read"],
    )
    assert inspect.iscoroutinefunction(Greeter.execute)


@pytest.mark.requirement("001-CONSTANTS", "000-FR-002")
def test_the_constants_and_the_defaults_are_those_of_the_data_model() -> None:
    assert {"Read", "Write", "Edit", "Bash", "Glob", "Grep", "NotebookEdit", "WebFetch"} < BUILTIN_TOOLS
    assert len(BUILTIN_TOOLS) == 16
    assert DEFAULT_MODEL == "claude-sonnet-4-5-20250929"
    assert DEFAULT_PERMISSION_MODE == "acceptEdits"
    assert Greeter(model=None).model == DEFAULT_MODEL
    assert agents.AgentMessage is claude_agent_sdk.Message
    with pytest.raises(AttributeError, match="no attribute 'AgentMassage'"):
        _ = agents.AgentMassage


@pytest.mark.requirement("000-FR-002", "001-AGENT")
@pytest.mark.parametrize(
    "tools",
    [
        sorted(BUILTIN_TOOLS),
        ["Bash(git:*)", "Read(./docs/**)"],
        ["mcp__lab__add", "mcp__lab"],
        ["Skill", "TaskCreate"],
        [],
    ],
    ids=["built in", "rules", "of a server", "of today's CLI", "none"],
)
def test_tools_that_exist_are_accepted(tools: list[str]) -> None:
    assert Greeter(allowed_tools=tools, mcp_servers=SERVERS).allowed_tools == tools


@pytest.mark.requirement("000-FR-002", "000-EDGE-TOOL", "001-AGENT")
@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("Raed", "There is no tool named 'Raed'. Did you mean 'Read'?"),
        ("mcp__lob__add", "Did you mean 'mcp__lab'?"),
        ("Launch(missiles)", "There is no tool named 'Launch(missiles)'"),
        ("", "There is no tool named ''"),
    ],
)
def test_a_tool_that_does_not_exist_is_refused_when_the_agent_is_made(tool: str, words: str) -> None:
    with pytest.raises(InvalidToolError) as raised:
        Greeter(allowed_tools=["Read", tool], mcp_servers=SERVERS)

    assert words in str(raised.value)
    assert raised.value.tool_name == tool
    assert "mcp__lab" in raised.value.available_tools


@pytest.mark.requirement("001-AGENT")
@pytest.mark.parametrize(
    ("given", "field"), [({"name": " "}, "name"), ({"timeout": 0}, "timeout"), ({"max_processes": 0}, "size")]
)
async def test_values_that_make_no_sense_are_refused_by_name(given: dict[str, Any], field: str) -> None:
    class Plain(MaverickAgent):
        async def execute(self, context: AgentContext) -> AgentResult[Any]:
            return await self.run_prompt("Go.", context)

    with pytest.raises(InvalidInputError) as raised:
        async with Plain(**{"name": "plain", "system_prompt": "You are plain.", **given}):
            pass

    assert raised.value.field == field


@pytest.mark.requirement("000-FR-003", "001-AGENT")
def test_the_options_have_defaults_for_an_agent_nobody_sits_in_front_of(tmp_path: Path) -> None:
    agent = Greeter(
        allowed_tools=["Read", "Bash(git:*)", "mcp__lab__add"], mcp_servers=SERVERS, max_tokens=500
    )

    options = agent._build_options(tmp_path)

    assert isinstance(options, ClaudeAgentOptions)
    assert options.system_prompt == "You greet people."
    assert options.model == "claude-sonnet-4-5"
    assert options.cwd == tmp_path
    assert options.permission_mode == "acceptEdits"
    assert options.allowed_tools == ["Read", "Bash(git:*)", "mcp__lab__add"]
    assert options.tools == ["Read", "Bash"]
    assert options.mcp_servers == SERVERS
    assert options.setting_sources == []
    assert options.strict_mcp_config
    assert options.verbatim_prompts
    assert options.env == {
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "API_TIMEOUT_MS": "600000",
        "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": "120000",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "500",
    }


@pytest.mark.requirement("000-FR-003")
def test_any_option_can_be_given_or_changed_by_a_subclass() -> None:
    class Thorough(Greeter):
        def _build_options(self, cwd: str | Path | None = None) -> ClaudeAgentOptions:
            return replace(super()._build_options(cwd), effort="high")

    options = Thorough(max_turns=3, setting_sources=["project"], env={"CLAUDE_CODE_MAX_RETRIES": "2"}).options

    assert (options.effort, options.max_turns, options.setting_sources) == ("high", 3, ["project"])
    assert options.env["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert options.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"


@pytest.mark.requirement("000-FR-003")
def test_an_option_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match=r"no option named 'max_turn'\. Did you mean 'max_turns'"):
        _ = Greeter(max_turn=3).options


@pytest.mark.requirement("000-SC-004", "000-US5-AS1")
def test_without_the_sdk_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "claude_agent_sdk", None)

    with pytest.raises(CLINotFoundError, match=re.escape(install_command("claude-code"))):
        _ = Greeter().options


@pytest.mark.requirement("000-US3-AS1", "000-US3-AS2", "000-SC-005", "001-REGISTRY")
def test_a_class_is_looked_up_and_made_by_name() -> None:
    registry = AgentRegistry()
    registry.register("greeter", Greeter)

    assert registry.get("greeter") is Greeter
    agent = registry.create("greeter", mcp_servers=SERVERS, allowed_tools=["mcp__lab__add"])

    assert isinstance(agent, Greeter)
    assert agent.mcp_servers == SERVERS


@pytest.mark.requirement("000-FR-006", "000-US4-AS1")
def test_the_text_of_a_message_is_its_text_blocks() -> None:
    assert extract_text(said(TextBlock("Hello."))) == "Hello."
    assert extract_text(said(TextBlock("One."), TextBlock("Two."))) == "One.\nTwo."
    assert extract_text(said()) == ""


@pytest.mark.requirement("000-FR-006", "000-US4-AS2")
def test_what_is_not_text_is_left_out() -> None:
    mixed = said(
        ThinkingBlock(thinking="hm", signature="s"),
        TextBlock("Let me see."),
        ToolUseBlock(id="1", name="Read", input={}),
        TextBlock(""),
        TextBlock("Done."),
    )

    assert extract_text(mixed) == "Let me see.\nDone."
    assert extract_text(UserMessage(content="Not the assistant.")) == ""
    assert extract_all_text([mixed, UserMessage(content="x"), said(), said(TextBlock("Bye."))]) == (
        "Let me see.\nDone.\nBye."
    )
