"""Agents on the real CLI: what they answer, what they may do, and what it used."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from claude_agent_sdk import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    tool,
)
from pydantic import BaseModel, SecretStr

from canary import CANARY
from claude_cli.api import HELLO, CliApi, Greeter, calls
from maverick import TerminateReason
from maverick import tool as maverick_tool
from maverick.agents import (
    AgentContext,
    AgentRegistry,
    AgentResult,
    MaverickAgent,
    extract_all_text,
    extract_text,
    extract_usage,
)
from maverick.agents.class_executor import ClassExecutor, define_class
from maverick.agents.context import NO_BRANCH
from maverick.config import AgentConfig, MaverickConfig
from maverick.exceptions import LimitExceededError, OutputValidationError
from wire.claude_answers import Answer, text
from wire.claude_server import Served
from wire.openai_server import OpenAIServer

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def api(kept_api: CliApi) -> CliApi:
    """The API, as good as new."""
    kept_api.play(HELLO)
    return kept_api


def context(cwd: Path, **agent: Any) -> AgentContext:
    return AgentContext(cwd, NO_BRANCH, MaverickConfig(agent=AgentConfig(**agent)))


@pytest.mark.requirement(
    "000-US1-AS1",
    "000-US1-AS2",
    "000-FR-001",
    "000-FR-004",
    "000-FR-013",
    "000-FR-014",
    "000-SC-001",
    "000-SC-006",
)
async def test_an_agent_of_a_few_lines_executes_and_returns_a_result(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    result = await greeter.execute(context(folder))

    assert result.success
    assert result.output == result.raw_content == "Hello from the API."
    assert result.errors == []
    assert result.terminate_reason is TerminateReason.COMPLETE
    assert result.turn_count == 1
    assert set(result.metadata) >= {"session_id", "duration_api_ms", "permission_denials"}
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens) == (118, 42)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (11, 7)
    assert usage.total_cost_usd == pytest.approx(0.00096, rel=0.01)
    assert usage.duration_ms > 0
    (request,) = api.requests
    assert "You greet people." in str(request["system"])
    assert "Greet the people here." in str(request["messages"])
    assert [tool["name"] for tool in request["tools"]] == ["Read"]


@pytest.mark.requirement("000-US2-AS1", "000-FR-005")
async def test_messages_arrive_one_by_one_and_pieces_of_them_when_asked_for(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    whole = [message async for message in greeter.query("Hello?", folder)]
    in_pieces = Greeter.like(greeter, partial_messages=True)
    pieces = [message async for message in in_pieces.query("Hello?", folder)]

    assert isinstance(whole[-1], ResultMessage)
    assert not any(isinstance(message, StreamEvent) for message in whole)
    assert extract_all_text(whole) == "Hello from the API."
    deltas = [
        message.event.get("delta", {}).get("text", "")
        for message in pieces
        if isinstance(message, StreamEvent)
    ]
    assert "".join(deltas) == "Hello from the API."
    assert len([delta for delta in deltas if delta]) > 1
    assert extract_usage(whole).total_tokens == extract_usage(pieces).total_tokens == 160


@pytest.mark.requirement("000-US2-AS2", "000-FR-013", "000-SC-003")
async def test_a_message_is_there_while_the_rest_is_still_to_come_and_nothing_else_waits(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    (folder / "in.txt").write_text("x", encoding="utf-8")
    answering = asyncio.Event()

    async def held_back(served: Served) -> web.StreamResponse:
        await answering.wait()
        return await served.send(*served.answer_bytes(HELLO))

    api.play(held_back, calls(("Read", {"file_path": str(folder / "in.txt")})), HELLO)
    seen: list[str] = []

    async def show() -> None:
        async for message in greeter.query("Hello?", folder):
            seen.append(type(message).__name__)
            if isinstance(message, SystemMessage):
                answering.set()  # the first message is here before the API has said anything

    await asyncio.wait_for(show(), 60)

    assert seen[0] == "SystemMessage"
    assert seen[-1] == "ResultMessage"


@pytest.mark.requirement("000-US2-AS2")
async def test_what_the_agent_does_is_shown_before_it_goes_on(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    (folder / "in.txt").write_text("x", encoding="utf-8")
    shown = asyncio.Event()

    async def once_it_was_shown(served: Served) -> web.StreamResponse:
        await shown.wait()
        return await served.send(*served.answer_bytes(HELLO))

    api.play(calls(("Read", {"file_path": str(folder / "in.txt")}), words="I will read."), once_it_was_shown)

    async def show() -> str:
        texts = []
        async for message in greeter.query("Hello?", folder):
            texts.append(extract_text(message))
            if "I will read." in texts:
                shown.set()
        return "".join(texts)

    assert await asyncio.wait_for(show(), 60) == "I will read.Hello from the API."


@pytest.mark.requirement("000-SC-001", "000-SC-005", "000-US1-AS1")
async def test_a_class_with_execute_and_a_prompt_works_by_its_name_alone(
    api: CliApi, kept_env: dict[str, str], folder: Path
) -> None:
    registry = AgentRegistry()

    @registry.register("reviewer")
    class Reviewer(MaverickAgent):
        system_prompt = "You review code."

        async def execute(self, context: AgentContext) -> AgentResult[str]:
            return await self.run_prompt("Review.", context)

    agent = registry.create("reviewer", env=kept_env)
    result = await agent.execute(context(folder))

    assert isinstance(agent, Reviewer)
    assert agent.name == "reviewer"
    assert result.output == "Hello from the API.", result.error
    assert "You review code." in str(api.requests[0]["system"])
    assert api.requests[0]["max_tokens"] == 16_384


async def test_a_prompt_goes_to_the_provider_of_the_settings_if_the_class_names_no_model(
    folder: Path,
) -> None:
    async with OpenAIServer() as openai:
        elsewhere = context(folder, provider="openai", model="m", base_url=openai.at("text"))

        result = await Greeter(model="").run_prompt("Hi.", elsewhere)

    assert result.success, result.error
    assert (len(openai.received), result.metadata["model"]) == (1, "m")


async def test_settings_that_the_cli_does_not_take_are_named_once(
    api: CliApi, greeter: Greeter, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    api.play(HELLO, HELLO)
    asked = context(folder, temperature=0.3, top_p=0.4, stop_sequences=("ZZ",))

    for _ in range(2):
        result = await greeter.run_prompt("Hi.", asked)
        assert result.success, result.error

    # Another logger may have something to say of the model.
    assert [record.message for record in caplog.records if record.name.endswith("class_definition")] == [
        "The Claude CLI does not take agent.temperature, agent.top_p, agent.stop_sequences: agents on it run without."
    ]


@pytest.mark.requirement("000-FR-002")
async def test_a_tool_of_an_mcp_server_in_this_process_is_called_where_it_or_its_server_is_allowed(
    api: CliApi, kept_env: dict[str, str], folder: Path
) -> None:
    @tool("add", "Add two numbers.", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        """Add."""
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    one, whole = "mcp__old__lab__add", "mcp__lab__add"
    api.play(calls((one, {"a": 2, "b": 3}), (whole, {"a": 2, "b": 4})), HELLO)
    servers = {server: create_sdk_mcp_server(server, "1.0.0", [add]) for server in ("old__lab", "lab")}
    allowed = [one, "mcp__lab"]
    agent = Greeter(env=kept_env, mcp_servers=servers, allowed_tools=allowed, permission_mode="dontAsk")

    result = await agent.run_prompt("Add.", context(folder))

    assert result.success, result.error
    assert result.turn_count == 2
    assert result.usage.output_tokens == 84
    answered = [
        block for block in api.requests[1]["messages"][-1]["content"] if block["type"] == "tool_result"
    ]
    assert [("5" in str(block["content"]), "6" in str(block["content"])) for block in answered] == [
        (True, False),
        (False, True),
    ]
    first, second = result.tool_calls
    assert (first.tool_name, first.result) == (one, "5")
    assert (second.tool_name, second.result) == ("mcp__lab", "6")
    assert second.arguments == {"tool": whole, "arguments": {"a": 2, "b": 4}}


@pytest.mark.requirement("CLI-PERMISSIONS")
@pytest.mark.parametrize(
    ("mode", "wrote", "ran"),
    [
        ("default", False, False),
        ("acceptEdits", True, False),
        ("bypassPermissions", True, True),
    ],
)
async def test_a_permission_mode_decides_on_tools_that_are_not_allowed(
    api: CliApi, kept_env: dict[str, str], folder: Path, mode: str, wrote: bool, ran: bool
) -> None:
    folder = folder / mode
    folder.mkdir()
    (folder / "in.txt").write_text("what was written", encoding="utf-8")
    (folder / "work.sh").write_text("#!/bin/sh\necho ran > ran.txt\n", encoding="utf-8")
    (folder / "work.sh").chmod(0o700)
    api.play(
        calls(
            ("Read", {"file_path": str(folder / "in.txt")}),
            ("Write", {"file_path": str(folder / "out.txt"), "content": "new"}),
            ("Bash", {"command": "./work.sh", "description": "Work."}),
        ),
        HELLO,
    )
    agent = Greeter(env=kept_env, permission_mode=mode, allowed_tools=[], tools=["Read", "Write", "Bash"])

    messages = [message async for message in agent.query("Work.", folder)]

    results = [
        block
        for message in messages
        if isinstance(message, UserMessage)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    ]
    assert "what was written" in str(results[0].content)
    assert [not result.is_error for result in results] == [True, wrote, ran]
    assert (folder / "out.txt").exists() is wrote
    assert (folder / "ran.txt").exists() is ran


@pytest.mark.requirement("CLI-PERMISSIONS")
async def test_tools_that_are_allowed_run_and_others_are_not_even_offered(
    api: CliApi, kept_env: dict[str, str], folder: Path
) -> None:
    api.play(calls(("Bash", {"command": "expr 6 '*' 7", "description": "Multiply."})), HELLO)
    agent = Greeter(env=kept_env, permission_mode="dontAsk", allowed_tools=["Bash(expr:*)"])

    result = await agent.run_prompt("Multiply.", context(folder))

    assert result.success
    assert [tool["name"] for tool in api.requests[0]["tools"]] == ["Bash"]
    assert "42" in str(api.requests[1]["messages"][-1]["content"])


@pytest.mark.requirement("CLI-PERMISSIONS")
async def test_an_agent_of_the_cli_works_by_itself_and_is_one_call_of_a_prompt(
    api: CliApi, kept_env: dict[str, str], folder: Path
) -> None:
    (folder / "in.txt").write_text("what was written", encoding="utf-8")
    task = {"description": "Read", "prompt": "Read it.", "subagent_type": "general-purpose"}
    api.play(
        calls(("Task", task)),
        calls(("Read", {"file_path": str(folder / "in.txt")})),
        Answer([text("It says what was written.")]),
        HELLO,
    )

    result = await Greeter(env=kept_env, allowed_tools=["Task", "Read"]).run_prompt("Go.", context(folder))

    assert result.output == "Hello from the API.", result.error
    assert [record.tool_name for record in result.tool_calls] in (["Task"], ["Agent"])
    assert "It says what was written." in result.tool_calls[0].result
    assert "what was written" in str(api.requests[2]["messages"][-1])
    assert (len(api.requests), result.turn_count) == (4, 2)
    assert result.usage.output_tokens == 4 * 42  # what the agent of the CLI has used is charged too


@maverick_tool
async def double(number: int) -> str:
    """Double a number."""
    return str(2 * number)


@pytest.mark.requirement("CLASS-RUNS")
async def test_a_class_on_the_cli_can_be_given_tools_of_ours(
    api: CliApi, kept_env: dict[str, str], folder: Path
) -> None:
    (folder / "in.txt").write_text("x", encoding="utf-8")
    api.play(
        calls(("mcp__maverick__double", {"number": 21}), ("Read", {"file_path": str(folder / "in.txt")})),
        HELLO,
    )
    definition = define_class("greeter", Greeter, context(folder), env=kept_env)
    tools = replace(definition.tool_config, tools=[*definition.tool_config.tools, double])

    result = await ClassExecutor().execute(replace(definition, tool_config=tools))

    assert result.output == "Hello from the API.", result.error
    assert [(record.tool_name, record.outcome.value) for record in result.tool_calls] == [
        ("double", "finished"),
        ("Read", "finished"),
    ]
    assert result.tool_calls[0].result == "42"


class Sum(BaseModel):
    total: int
    terms: list[int]


@pytest.mark.requirement("CLI-OUTPUT-TYPE")
async def test_an_answer_can_be_a_value_of_a_type(api: CliApi, greeter: Greeter, folder: Path) -> None:
    api.play(Answer([text("Five.")]), Answer([text('{"total": 5, "terms": [2, 3]}')]))

    result = await greeter.run_prompt("Add.", context(folder), output_type=Sum)

    assert result.success, result.error
    assert result.output == Sum(total=5, terms=[2, 3])
    assert len(api.requests) == 2  # what is wrong with an answer is said, and it is asked for again


@pytest.mark.requirement("CLI-OUTPUT-TYPE")
async def test_an_answer_that_never_fits_the_type_is_a_failed_result(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    api.play(Answer([text('{"totl": 5}')]))

    result = await greeter.run_prompt("Add.", context(folder), output_type=Sum)

    assert not result.success
    assert result.output is None
    assert not result.validated
    assert result.raw_content == '{"totl": 5}'
    assert isinstance(result.errors[0], OutputValidationError)


@pytest.mark.requirement("CLI-LIMITS", "000-FR-008")
@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ({"max_turns": 1}, TerminateReason.MAX_TURNS),
        ({"max_budget_usd": 0.0012}, TerminateReason.MAX_COST),
    ],
    ids=["turns", "money"],
)
async def test_a_limit_ends_the_run_and_the_result_says_which(
    api: CliApi, greeter: Greeter, folder: Path, limit: dict[str, Any], reason: TerminateReason
) -> None:
    (folder / "in.txt").write_text("x", encoding="utf-8")
    api.play(calls(("Read", {"file_path": str(folder / "in.txt")}), words="I will read it."))

    result = await Greeter.like(greeter, **limit).execute(context(folder))

    assert not result.success
    assert result.terminate_reason is reason
    assert isinstance(result.errors[0], LimitExceededError)
    assert result.errors[0].limit in str(result.errors[0])
    assert result.raw_content == "I will read it."
    assert result.usage.output_tokens == 42
    assert result.usage.total_cost_usd


@pytest.mark.requirement("CLI-CONTEXT")
async def test_the_settings_of_the_context_say_where_claude_is_and_with_which_key(
    api: CliApi, greeter: Greeter, kept_env: dict[str, str], folder: Path
) -> None:
    elsewhere = {name: value for name, value in kept_env.items() if not name.startswith("ANTHROPIC")}
    settings = context(folder, base_url=api.url, api_key=SecretStr(CANARY))

    result = await Greeter.like(greeter, env=elsewhere).execute(settings)

    assert result.success, result.error
    assert api.received[0].headers["x-api-key"] == CANARY
    assert CANARY not in repr(result)


@pytest.mark.requirement("CLI-VERBATIM")
async def test_a_path_in_a_prompt_does_not_make_the_cli_read_the_file(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    (folder / "secret.txt").write_text("the secret of the house", encoding="utf-8")

    await greeter.run_prompt("Somebody wrote: see @secret.txt and /compact", context(folder))

    assert "see @secret.txt and /compact" in str(api.requests[0]["messages"])
    assert "the secret of the house" not in str(api.requests)


@pytest.mark.requirement("000-FR-005")
async def test_an_agent_that_reads_the_messages_itself_has_all_it_needs(
    api: CliApi, greeter: Greeter, folder: Path
) -> None:
    class Shouter(Greeter):
        async def execute(self, context: AgentContext) -> AgentResult[str]:
            messages = [message async for message in self.query("Hello?", context.cwd)]
            words = [extract_text(message) for message in messages if isinstance(message, AssistantMessage)]
            return AgentResult.success_result("\n".join(words).upper(), extract_usage(messages))

    result = await Shouter.like(greeter).execute(context(folder))

    assert result.output == "HELLO FROM THE API."
    assert result.usage.total_tokens == 160
