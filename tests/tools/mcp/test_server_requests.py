"""What servers offer to people, and what they ask them: prompts, resources, elicitation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, ApprovalRequest, MaverickConfig, ToolConfig
from maverick.agents.discovery import DiscoveredAgent, Origin
from maverick.agents.running import agent_executor
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.model import Role
from maverick.runtime import ApprovalAnswer
from maverick.runtime.consent import preview_call
from maverick.testing import ScriptedClient, call, reply
from maverick.tools.mcp import expand_prompt, list_prompts, list_resources, read_resource
from tools.mcp.wiki_server import wiki_server

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
    (prompt,) = await list_prompts(["wiki"])
    (resource,) = await list_resources(["wiki"])
    said = await expand_prompt("/mcp__wiki__summary 'low tide' language=French")
    read = await read_resource("wiki", resource.uri)

    assert prompt.usage == "/mcp__wiki__summary page [language]"
    assert prompt.description == "Sums a page up."
    assert said == "Sum up the page low tide in French."
    assert resource.uri == "wiki://tides"
    assert "The sea comes and goes." in read
    assert read != "The sea comes and goes."


@pytest.mark.requirement("MCP-PROMPTS")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("/mcp__wiki__summary", r"page is missing\. Write: /mcp__wiki__summary page"),
        ("/mcp__wiki__sumary tides", "Did you mean '/mcp__wiki__summary'"),
        ("/mcp__wiki__summary 'tides", "a quote that is not closed"),
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
    assert len({preview.grant for preview in previews}) == len(asked), "each question is asked about"
    assert "Oban" not in str(client.requests[0])
