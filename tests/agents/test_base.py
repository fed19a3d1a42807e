"""An agent as a class: how it is made, what it refuses, and what the CLI is started with."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator
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
from maverick.providers.claude_cli import build_options

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


class Reviewer(MaverickAgent):
    """As little as an agent can be."""

    system_prompt = "You review code."

    async def execute(self, context: AgentContext) -> AgentResult[Any]:
        return await self.run_prompt("Review.", context)


@pytest.mark.requirement("000-SC-001", "001-AGENT")
def test_execute_and_a_system_prompt_are_all_that_a_class_needs() -> None:
    agent = Reviewer()

    assert (agent.name, agent.system_prompt, agent.allowed_tools) == ("Reviewer", "You review code.", [])
    assert (agent.options.system_prompt, agent.options.tools) == ("You review code.", [])


@pytest.mark.requirement("000-SC-001", "001-AGENT")
def test_a_class_can_say_the_rest_of_what_it_is_and_an_argument_comes_first() -> None:
    class Careful(Reviewer):
        name = "careful"
        model = "claude-opus-5-5"
        allowed_tools = ["Read", "mcp__lab__add"]  # noqa: RUF012 - what a developer would write
        mcp_servers = SERVERS

    class MoreCareful(Careful):
        name = "more-careful"

    agent = MoreCareful()
    changed = Careful("other", "You look.", ["Grep"], "claude-haiku-5-5", {})

    assert (agent.name, agent.model, agent.allowed_tools) == (
        "more-careful",
        "claude-opus-5-5",
        ["Read", "mcp__lab__add"],
    )
    assert agent.options.mcp_servers == SERVERS
    assert (
        changed.name,
        changed.system_prompt,
        changed.allowed_tools,
        changed.model,
        changed.mcp_servers,
    ) == (
        "other",
        "You look.",
        ["Grep"],
        "claude-haiku-5-5",
        {},
    )


@pytest.mark.requirement("001-AGENT")
def test_an_agent_without_a_system_prompt_is_refused() -> None:
    class Silent(MaverickAgent):
        async def execute(self, context: AgentContext) -> AgentResult[Any]:
            return await self.run_prompt("Go.", context)

    with pytest.raises(InvalidInputError, match="Silent has none") as raised:
        Silent("silent")

    assert raised.value.field == "system_prompt"
    assert Silent("silent", "").system_prompt == ""


@pytest.mark.requirement("001-CONSTANTS")
def test_the_constants_are_those_of_the_data_model() -> None:
    assert isinstance(BUILTIN_TOOLS, frozenset)
    assert set(BUILTIN_TOOLS) == {
        *("Read", "Write", "Edit", "Bash", "Glob", "Grep"),
        *("NotebookEdit", "WebFetch", "WebSearch", "TodoWrite"),
        *("BashOutput", "KillBash", "Task", "ExitPlanMode"),
        *("ListMcpResources", "ReadMcpResource"),
    }
    assert DEFAULT_MODEL == "claude-sonnet-4-5-20250929"
    assert DEFAULT_PERMISSION_MODE == "acceptEdits"
    assert (agents.BUILTIN_TOOLS, agents.DEFAULT_MODEL) == (BUILTIN_TOOLS, DEFAULT_MODEL)


@pytest.mark.requirement("001-AGENT-MODEL", "000-FR-002")
def test_the_constants_are_the_defaults() -> None:
    assert Greeter(model=None).model == DEFAULT_MODEL
    assert Greeter(model="claude-opus-5-5").model == "claude-opus-5-5"
    assert Greeter().options.permission_mode == DEFAULT_PERMISSION_MODE


@pytest.mark.requirement("001-ALIAS")
def test_agent_message_is_the_message_of_the_sdk() -> None:
    assert agents.AgentMessage is claude_agent_sdk.Message
    with pytest.raises(AttributeError, match="no attribute 'AgentMassage'"):
        _ = agents.AgentMassage  # type: ignore[attr-defined]


@pytest.mark.requirement("000-FR-002", "001-AGENT-TOOLS")
@pytest.mark.parametrize(
    "tools",
    [
        sorted(BUILTIN_TOOLS),
        ["Bash(git:*)", "Read(./docs/**)", "Bash(echo (x))", r"Bash(echo \))"],
        ["mcp__lab__add", "mcp__lab", "mcp__lab__*"],
        ["mcp__old__lab__add", "mcp__old__lab", "mcp__big_lab__add"],
        ["Skill", "TaskCreate"],
        [],
    ],
    ids=["built in", "rules", "of a server", "of servers with odd names", "of today's CLI", "none"],
)
def test_tools_that_exist_are_accepted(tools: list[str]) -> None:
    servers = {**SERVERS, "old__lab": SERVERS["lab"], "big lab": SERVERS["lab"]}

    assert Greeter(allowed_tools=tools, mcp_servers=servers).allowed_tools == tools


@pytest.mark.requirement("000-FR-002", "000-EDGE-TOOL", "001-AGENT-TOOLS", "001-ERROR-INVALID-TOOL")
@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("Raed", "There is no tool named 'Raed'. Did you mean 'Read'?"),
        (" Read", "Did you mean 'Read'?"),
        ("mcp__lob__add", "Did you mean 'mcp__lab'?"),
        ("mcp__lab__", "Did you mean 'mcp__lab'?"),
        ("mcp__lab__add two", "There is no tool named 'mcp__lab__add two'"),
        ("mcp__lab(add)", "Did you mean 'mcp__lab'?"),
        ("Launch(missiles)", "There is no tool named 'Launch(missiles)'"),
        ("Bash(", "Did you mean 'Bash'?"),
        ("Bash()", "Did you mean 'Bash'?"),
        ("Bash(git:*", "There is no tool named 'Bash(git:*'"),
        ("Read(x) rm -rf", "There is no tool named 'Read(x) rm -rf'"),
        ("Read(x) Bash(y)", "There is no tool named 'Read(x) Bash(y)'"),
        ("", "There is no tool named ''"),
        (None, "There is no tool named 'None'"),
        (3, "There is no tool named '3'"),
    ],
)
def test_a_tool_that_does_not_exist_is_refused_when_the_agent_is_made(tool: Any, words: str) -> None:
    with pytest.raises(InvalidToolError) as raised:
        Greeter(allowed_tools=["Read", tool], mcp_servers=SERVERS)

    assert words in str(raised.value)
    assert raised.value.tool_name == str(tool)
    assert raised.value.available_tools == sorted(raised.value.available_tools)
    assert {"mcp__lab", *BUILTIN_TOOLS} <= set(raised.value.available_tools)


@pytest.mark.requirement("001-AGENT-TOOLS", "000-FR-002")
def test_nothing_is_added_to_the_tools_after_they_were_looked_at() -> None:
    tools, servers = ["Read"], dict(SERVERS)
    agent = Greeter(allowed_tools=tools, mcp_servers=servers)

    tools.append("Bash")
    servers["other"] = servers["lab"]
    agent.allowed_tools.append("Bash")
    agent.mcp_servers["other"] = servers["lab"]
    agent.options.allowed_tools.append("Bash")

    assert (agent.allowed_tools, agent.mcp_servers) == (["Read"], SERVERS)
    assert (agent.options.allowed_tools, agent.options.mcp_servers) == (["Read"], SERVERS)
    with pytest.raises(AttributeError):
        agent.allowed_tools = ["Bash"]  # type: ignore[misc]  # that is the point


@pytest.mark.requirement("001-AGENT-NAME")
@pytest.mark.parametrize("name", ["", " ", 3])
def test_a_name_is_a_non_empty_string(name: Any) -> None:
    with pytest.raises(InvalidInputError, match="name: expected a non-empty string") as raised:
        Reviewer(name)

    assert raised.value.field == "name"


@pytest.mark.requirement("000-FR-003")
@pytest.mark.parametrize("value", [0, -1, "1", True])
@pytest.mark.parametrize(
    "field",
    [
        *("max_tokens", "timeout", "max_processes", "max_turns"),
        *("max_budget_usd", "request_seconds", "idle_seconds"),
    ],
)
def test_amounts_that_make_no_sense_are_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"{field}: expected") as raised:
        Greeter(**{field: value})

    assert raised.value.field == field


@pytest.mark.requirement("000-FR-003")
@pytest.mark.parametrize("value", [-1, "1", 1.5, False])
def test_tokens_for_thinking_are_a_whole_number_of_which_none_switch_it_off(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="expected a whole number from 0") as raised:
        Greeter(max_thinking_tokens=value)

    assert raised.value.field == "max_thinking_tokens"
    assert Greeter(max_thinking_tokens=0).options.max_thinking_tokens == 0


def test_a_text_is_no_list_of_tools() -> None:
    with pytest.raises(InvalidInputError, match="expected a list of names, got the text 'Read'"):
        Greeter(allowed_tools="Read")


@pytest.mark.requirement("000-FR-003")
def test_common_settings_have_defaults() -> None:
    assert (Greeter().max_tokens, Greeter().timeout) == (16_384, 3600.0)
    assert Greeter().options.env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "16384"
    assert "CLAUDE_CODE_MAX_OUTPUT_TOKENS" not in Greeter(max_tokens=None).options.env


@pytest.mark.requirement("000-FR-013")
def test_every_method_of_an_agent_that_does_io_is_async() -> None:
    waiting = {
        name
        for name, member in inspect.getmembers(MaverickAgent, callable)
        if inspect.iscoroutinefunction(member)
    }

    assert waiting == {"execute", "run_prompt", "warm_up", "aclose", "__aenter__", "__aexit__"}
    assert isinstance(Greeter().query("Hello?"), AsyncIterator)


@pytest.mark.requirement("000-FR-003", "001-AGENT-OPTIONS")
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
        Greeter(max_turn=3)


@pytest.mark.requirement("000-FR-003")
def test_a_subclass_that_builds_the_options_itself_may_take_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Greeter):
        def _build_options(self, cwd: str | Path | None = None) -> ClaudeAgentOptions:
            return build_options(system_prompt="Hm.", cwd=cwd)

    assert Own(temperature=0.5).options.system_prompt == "Hm."
    monkeypatch.setitem(__import__("sys").modules, "claude_agent_sdk", None)
    assert Greeter(idle_seconds=20, max_turns=3).name


@pytest.mark.requirement("000-SC-004", "000-US5-AS1")
def test_without_the_sdk_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "claude_agent_sdk", None)

    with pytest.raises(CLINotFoundError, match=re.escape(install_command("claude-code"))):
        _ = Greeter().options


@pytest.mark.requirement("000-US3-AS1", "000-US3-AS2", "000-SC-005", "001-REGISTRY-CREATE")
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
        "Let me see.\nDone.\n\nBye."
    )
