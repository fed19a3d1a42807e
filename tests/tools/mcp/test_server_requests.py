"""What servers offer to people, and what they ask them: prompts, resources, elicitation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import mcp_types as types
import pytest

from clocks import Clocks
from maverick import (
    AgentDefinition,
    AgentExecutor,
    ApprovalRequest,
    MaverickConfig,
    RunConfig,
    ToolConfig,
)
from maverick.agents.discovery import DiscoveredAgent, Origin
from maverick.agents.running import agent_executor
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.journal import MemoryJournal
from maverick.model import Role
from maverick.runtime import AbortSignal, ApprovalAnswer
from maverick.runtime.consent import preview_call
from maverick.testing import ScriptedClient, call, reply
from maverick.tools.mcp import Question, Sample, expand_prompt, list_prompts, list_resources, read_resource
from maverick.tools.mcp.questions import sampling
from tools.mcp.wiki_server import Tasks, wiki_server

Write = Callable[..., None]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with wiki_server() as url:
        yield url


@pytest.fixture
def write(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes the server into the user's settings."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def write(**settings: object) -> None:
        (tmp_path / ".maverick").mkdir(exist_ok=True)
        servers = {"mcpServers": {"wiki": {"url": url, **settings}}}
        (tmp_path / ".maverick/mcp.json").write_text(json.dumps(servers))

    write()
    return write


@pytest.mark.requirement("MCP-PROMPTS")
async def test_prompts_are_commands_with_a_slash_and_resources_are_read_as_somebody_elses_words(
    write: Write,
) -> None:
    prompt, reading = await list_prompts(["wiki"])
    (resource,) = await list_resources(["wiki"])
    said = await expand_prompt("/mcp__wiki__summary 'low tide' language=French")
    read = await read_resource("wiki", resource.uri)
    asked = await expand_prompt("/mcp__wiki__resource wiki://tides When's  low tide?")

    assert prompt.usage == "/mcp__wiki__summary page [language]"
    assert prompt.description == "Sums a page up."
    assert said == "Sum up the page low tide in French."
    assert resource.uri == "wiki://tides"
    assert "The sea comes and goes." in read
    assert read != "The sea comes and goes."
    assert (reading.usage, reading.description) == (
        "/mcp__wiki__resource uri [words]",
        "Attaches a resource: wiki://tides",
    )
    assert asked.startswith('When\'s  low tide?\n\n<untrusted from="wiki://tides"')
    assert "The sea comes and goes." in asked


@pytest.mark.requirement("MCP-PROMPTS")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("/mcp__wiki__summary", r"page is missing\. Write: /mcp__wiki__summary page"),
        ("/mcp__wiki__sumary tides", "Did you mean '/mcp__wiki__summary'"),
        ("/mcp__wiki__summary 'tides", "a quote that is not closed"),
        ("/mcp__wiki__resource", r"uri is missing\. Write: /mcp__wiki__resource uri \[words\]"),
    ],
)
async def test_a_prompt_that_is_written_wrong_says_how_to_write_it(
    write: Write, text: str, problem: str
) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        await expand_prompt(text)
    with pytest.raises(ConfigError, match="There is no MCP server named 'wikis'"):
        await expand_prompt("/mcp__wikis__summary tides")


@pytest.mark.requirement("MCP-ELICITATION")
@pytest.mark.parametrize(
    ("allowed", "answers", "told"),
    [
        (True, [{"harbour": "Oban", "depth": 7}], 'accept: {"depth": 7, "harbour": "Oban"}'),
        (
            True,
            [{"harbour": "Oban", "depth": "deep"}, {"harbour": "Oban", "depth": 8}],
            'accept: {"depth": 8, "harbour": "Oban"}',
        ),
        (True, [None], "decline: null"),
        (True, [{}, {"harbour": "Oban", "depth": 9}], 'accept: {"depth": 9, "harbour": "Oban"}'),
        (True, ["yes", "yes"], "decline: null"),
        (False, [], "The MCP server 'wiki' refused: Elicitation not supported"),
    ],
)
async def test_a_server_asks_the_user_only_where_it_may_and_gets_only_what_fits(
    write: Write, allowed: bool, answers: list[Any], told: str
) -> None:
    write(elicitation=allowed)
    asked: list[ApprovalRequest] = []
    client = ScriptedClient([call("mcp__wiki__look_up"), reply("done")])
    sailor = AgentDefinition("sailor", "Sails.", tool_config=ToolConfig(tools=["mcp__wiki"]))
    found = DiscoveredAgent(
        "sailor", sailor, Origin.REGISTERED, "here", namespace={"executor": lambda *_: AgentExecutor(client)}
    )

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request)
        answer = answers[len(asked) - 1]
        if answer == "yes":
            return request.approve()
        return request.deny("no") if answer is None else request.approve(arguments=answer)

    async with agent_executor(found, MaverickConfig(), None, mode="yolo", approve=approve) as executor:
        result = await executor.execute(sailor, inputs={"prompt": "Go."})
    (returned,) = [message.content for message in result.messages if message.role is Role.TOOL_RESULT]

    assert told in returned
    assert len(asked) == len(answers)
    assert [request.arguments for request in asked[:1]] == [{"harbour": "Dover", "depth": None}] * allowed
    assert all(request.tool_name.startswith("answer to wiki: Which harbour?") for request in asked)
    previews = [preview_call(request.tool_name, request.arguments) for request in asked]
    assert all(preview.title.startswith("Answer to wiki: Which harbour?") for preview in previews)
    assert [preview.question for preview in previews[:1]] == ["Answer to wiki: Which harbour?"] * allowed
    assert len({preview.grant for preview in previews}) == len(asked), "each question is asked about"
    assert "Oban" not in str(client.requests[0])


@pytest.mark.requirement("MCP-ELICITATION", "P5")
@pytest.mark.parametrize("name", ["look_up", "dredge"])
async def test_the_time_that_a_person_takes_to_answer_a_server_ends_neither_the_call_nor_the_run(
    write: Write, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(elicitation=True)
    clocks = Clocks(monkeypatch)
    client = ScriptedClient([call(f"mcp__wiki__{name}"), reply("done")])
    tools = ToolConfig(tools=["mcp__wiki"], timeout=60)
    sailor = AgentDefinition("sailor", "Sails.", tool_config=tools, run_config=RunConfig(timeout=60))
    found = DiscoveredAgent(
        "sailor", sailor, Origin.REGISTERED, "here", namespace={"executor": lambda *_: AgentExecutor(client)}
    )

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        clocks.pass_by(600)
        await asyncio.sleep(0.01)  # the event loop looks at its timers
        return request.approve(arguments={"harbour": "Oban", "depth": 7})

    async with agent_executor(found, MaverickConfig(), None, mode="yolo", approve=approve) as executor:
        result = await executor.execute(sailor, inputs={"prompt": "Go."})
    (returned,) = [message.content for message in result.messages if message.role is Role.TOOL_RESULT]

    assert "accept: " in returned
    assert (result.output, result.usage.duration_ms < 60_000) == ("done", True)


@pytest.mark.requirement("MCP-TASKS")
@pytest.mark.parametrize(
    ("harbour", "told"),
    [
        ("Oban", "accept: Oban is deep."),
        (None, "decline: None is deep."),
        ("broken", "The MCP server 'wiki' refused: The dredger sank."),
        ("never", "Cut short: the run ended before the tool did."),
        ("lost", "The MCP server 'wiki' refused: "),
    ],
)
async def test_a_call_that_is_answered_with_a_task_ends_with_it_and_the_task_with_the_call(
    write: Write, harbour: str | None, told: str
) -> None:
    write(elicitation=True)
    asked: list[ApprovalRequest] = []
    stop = AbortSignal()
    client = ScriptedClient([call("mcp__wiki__dredge"), reply("done")])
    sailor = AgentDefinition("sailor", "Sails.", tool_config=ToolConfig(tools=["mcp__wiki"]))
    found = DiscoveredAgent(
        "sailor", sailor, Origin.REGISTERED, "here", namespace={"executor": lambda *_: AgentExecutor(client)}
    )

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request)
        if harbour is None:
            return request.deny("no")
        if harbour == "never":
            asyncio.get_running_loop().call_later(0.2, stop.abort, "enough")
        return request.approve(arguments={"harbour": harbour, "depth": 1})

    async with agent_executor(found, MaverickConfig(), None, mode="yolo", approve=approve) as executor:
        result = await executor.execute(sailor, inputs={"prompt": "Go."}, signal=stop)
    (returned,) = [message.content for message in result.messages if message.role is Role.TOOL_RESULT]
    task_id = list(Tasks.told)[-1]

    assert told in returned
    assert len(asked) == 1, "each question is asked once"
    assert (task_id in Tasks.cancelled) is (harbour in ("never", "lost"))
    assert Tasks.headers[-1] == task_id


@pytest.mark.requirement("MCP-SAMPLING")
@pytest.mark.parametrize(
    ("allowed", "agrees", "told"),
    [
        (True, True, "endTurn: They come, they go."),
        (True, False, "The MCP server 'wiki' refused: The user declined."),
        (False, True, "The MCP server 'wiki' refused: Sampling not supported"),
    ],
)
async def test_a_server_asks_the_model_only_where_it_may_and_the_model_hears_nothing_else(
    write: Write, allowed: bool, agrees: bool, told: str
) -> None:
    write(sampling=allowed)
    (Path.cwd() / "AGENTS.md").write_text("Rule one.")
    asked: list[ApprovalRequest] = []
    line = [reply("They come, they go.")] if allowed and agrees else []
    client = ScriptedClient([call("mcp__wiki__poem"), *line, reply("done")])
    sailor = AgentDefinition("sailor", "Sails.", tool_config=ToolConfig(tools=["mcp__wiki", "read_file"]))
    found = DiscoveredAgent(
        "sailor", sailor, Origin.REGISTERED, "here", namespace={"executor": lambda *_: AgentExecutor(client)}
    )

    async def approve(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request)
        return request.approve() if agrees else request.deny("no")

    async with agent_executor(
        found, MaverickConfig(), MemoryJournal(), mode="yolo", approve=approve
    ) as executor:
        result = await executor.execute(sailor, inputs={"prompt": "Go."})
    (returned,) = [message.content for message in result.messages if message.role is Role.TOOL_RESULT]

    assert told in returned
    assert [request.arguments["messages"][-1]["content"] for request in asked] == [
        "A line on tides."
    ] * allowed
    previews = [preview_call(request.tool_name, request.arguments) for request in asked]
    assert [(preview.question, preview.grant) for preview in previews] == [
        ("May the MCP server wiki ask your model this?", "")
    ] * allowed
    if allowed and agrees:
        sampled = client.requests[1]
        assert [message.content for message in sampled.messages] == [
            "Hello ${you}.",
            "Yes?",
            "A line on tides.",
        ]
        assert (sampled.system, sampled.tools, sampled.config.max_tokens) == ("You rhyme.", (), 50)


@pytest.mark.requirement("MCP-SAMPLING")
@pytest.mark.parametrize("max_tokens", [0, -1])
async def test_a_server_cannot_ask_the_model_for_an_answer_of_any_length(max_tokens: int) -> None:
    async def agree(question: Question) -> dict[str, Any] | None:
        return question.fields

    async def ask_model(server: str, sample: Sample) -> Any:
        raise AssertionError("it is not asked")

    text = types.SamplingMessage(role="user", content=types.TextContent(text="Say all you know."))
    asked = types.CreateMessageRequestParams(messages=[text], max_tokens=max_tokens)
    refused = await sampling("wiki", agree, ask_model)(cast("Any", None), asked)

    assert isinstance(refused, types.ErrorData)
    assert "at least 1 token" in refused.message
