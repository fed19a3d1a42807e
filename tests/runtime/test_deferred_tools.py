"""Tools that are found and called through two fixed ones: whatever decides on a call sees the tool itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from durable.office import Office, ProcessDied, die_at, executor
from maverick import AgentDefinition, AgentExecutor, ApprovalRequest, PromptConfig, ToolConfig
from maverick.exceptions import InvalidToolError
from maverick.journal import Journal, SqliteJournal
from maverick.journal.timeline import Timeline
from maverick.loop import ToolOutcome
from maverick.loop.conversation import tool_tokens
from maverick.loop.events import ApprovalRequested, RunEnd, ToolCallStart
from maverick.model import ToolCall
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient, call, calls, reply
from maverick.tools import Permissions, ToolRegistry, tool
from maverick.tools.mcp import MCPToolset
from scenario import assert_valid, results_in, watch
from tools.mcp.office_server import Office as OfficeServer

DONE = reply("Done.")
BOTH = ["search_tools", "call_tool"]


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with SqliteJournal(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def office() -> Office:
    return Office()


def clerk(office: Office, defer: Any = True, **options: Any) -> AgentDefinition:
    return office.clerk(tool_config=ToolConfig(tools=office.tools, defer=defer), **options)


def through(name: str, /, **arguments: Any) -> ToolCall:
    return call("call_tool", name=name, arguments=arguments)


def offered(client: ScriptedClient) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in client.requests]


async def test_a_deferred_tool_is_found_and_called_and_the_offer_never_changes(office: Office) -> None:
    watched = await watch(
        [call("search_tools", query="send letters"), through("send", to="Ana"), DONE], clerk(office)
    )

    assert office.done == ["send Ana"]
    assert offered(watched.client) == [BOTH] * 3
    assert len({id(request.tools) for request in watched.client.requests}) == 1
    found, result = results_in(watched.result.messages)
    assert found.startswith('send: Send a letter.\n{"')
    assert '"to"' in found
    assert result == "send: Ana"
    assert_valid(watched.result.messages)


async def test_the_conversation_keeps_the_call_as_it_was_made_and_all_else_shows_the_tool(
    office: Office, journal: Journal
) -> None:
    client, agent = ScriptedClient([through("send", to="Ana"), DONE]), clerk(office)
    made = AgentExecutor(client, journal=journal)
    events = [event async for event in made.stream(agent, run_id="r")]
    replayed = [event async for event in made.replay("r", agent)]

    (asked,) = client.requests[1].messages[1].tool_calls
    assert (asked.tool_name, asked.arguments) == ("call_tool", {"name": "send", "arguments": {"to": "Ana"}})
    for seen in (events, replayed):
        (start,) = (event for event in seen if isinstance(event, ToolCallStart))
        assert (start.tool_call.tool_name, start.tool_call.arguments) == ("send", {"to": "Ana"})
    assert isinstance(events[-1], RunEnd)
    (record,) = events[-1].result.tool_calls
    assert (record.tool_name, record.arguments) == ("send", {"to": "Ana"})
    timeline = Timeline([stored.entry async for stored in journal.read("r")])
    assert timeline.turns[0].tools[0].tool_name == "send"


@pytest.mark.requirement("P7")
async def test_approval_is_asked_for_the_tool_itself(office: Office) -> None:
    asked: list[ApprovalRequest] = []

    async def approve(wanted: ApprovalRequest) -> bool:
        asked.append(wanted)
        return wanted.arguments == {"what": "drafts"}

    script = [calls(through("shred", what="drafts"), through("shred", what="contracts")), DONE]
    watched = await watch(script, clerk(office), executor={"approve": approve})

    assert [(wanted.tool_name, wanted.arguments["what"]) for wanted in asked] == [
        ("shred", "drafts"),
        ("shred", "contracts"),
    ]
    assert [event.tool_call.tool_name for event in watched.of(ApprovalRequested)] == ["shred", "shred"]
    assert office.done == ["shred drafts"]


@pytest.mark.requirement("C-PERMISSIONS")
async def test_permissions_are_those_of_the_tool(office: Office) -> None:
    script: Script = [
        call("search_tools", query="send"),
        calls(through("send", to="Ana"), through("look", what="x")),
        DONE,
    ]
    watched = await watch(script, clerk(office), executor={"permissions": Permissions("yolo", deny=["send"])})

    assert office.done == ["look x"]
    assert results_in(watched.result.messages)[1].startswith("Not run: the permissions deny send.")


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("name", "argument", "outcome", "done"),
    [
        ("look", "what", ToolOutcome.FINISHED, ["look Ana", "look Ana"]),
        ("book", "what", ToolOutcome.FINISHED, ["book r/1/0", "book r/1/0"]),
        ("send", "to", ToolOutcome.UNKNOWN, ["send Ana"]),
        ("mail", "to", ToolOutcome.FINISHED, ["mail Ana"]),
    ],
)
async def test_after_a_crash_a_call_is_treated_as_the_effect_of_the_tool_allows(
    journal: Journal, office: Office, name: str, argument: str, outcome: ToolOutcome, done: list[str]
) -> None:
    office.mail_arrived = True
    made = executor(journal, through(name, **{argument: "Ana"}), DONE)
    die_at(journal, "ModelCalled", 2)
    with pytest.raises(ProcessDied):
        await made.execute(clerk(office), run_id="r")

    result = await made.resume("r", clerk(office))

    assert result.tool_calls[0].outcome is outcome
    assert office.done == done


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (through("sned", to="Ana"), "There is no tool named 'sned'. The nearest names are send"),
        (
            call("call_tool", name="call_tool", arguments={"name": "send", "arguments": {}}),
            "needs the name of another tool",
        ),
        (call("call_tool", arguments={"to": "Ana"}), "name"),
        (call("call_tool", name="send", arguments=["Ana"]), "not a JSON object but '[\"Ana\"]'"),
        (call("call_tool", name="send", arguments="{to"), "not a JSON object"),
        (through("send", whom="Ana"), "to"),
    ],
)
async def test_a_call_that_cannot_be_made_is_answered_with_what_is_wrong(
    office: Office, wanted: ToolCall, said: str
) -> None:
    watched = await watch([wanted, DONE], clerk(office))

    (result,) = results_in(watched.result.messages)
    assert said in result
    assert len(result) < 500
    assert office.done == []
    assert watched.result.success


@pytest.mark.parametrize("arguments", [{"to": "Ana"}, '{"to": "Ana"}'])
async def test_arguments_may_be_written_as_text(office: Office, arguments: object) -> None:
    await watch([call("call_tool", name="send", arguments=arguments), DONE], clerk(office))

    assert office.done == ["send Ana"]


async def test_some_tools_can_be_deferred_by_name_and_the_others_stay_on_offer(office: Office) -> None:
    watched = await watch(
        [through("send", to="Ana"), call("look", what="x"), DONE], clerk(office, ["send", "mail"])
    )

    assert offered(watched.client)[0] == ["look", "book", "shred", *BOTH]
    assert office.done == ["send Ana", "look x"]


async def test_deferring_an_unknown_tool_is_an_error_that_names_the_nearest(office: Office) -> None:
    with pytest.raises(InvalidToolError, match=r"tool_config.defer: .* 'sned'. Did you mean 'send'"):
        await watch([DONE], clerk(office, ["sned"]))


@pytest.mark.parametrize(
    ("count", "defer", "is_deferred"), [(30, None, False), (31, None, True), (31, False, False)]
)
async def test_the_tools_of_a_large_mcp_server_are_deferred_by_default(
    tmp_path: Path, count: int, defer: bool | None, is_deferred: bool
) -> None:
    server = OfficeServer(
        tmp_path / "log",
        {f"tool_{n}": f"Does the thing number {n}." for n in range(count - 1)} | {"echo": "Says it again."},
    )
    toolset = MCPToolset("office", server, prefix="mcp__office__")
    registry = ToolRegistry()
    registry.register_group("mcp__office", await toolset.tools())
    agent = AgentDefinition(
        "a",
        "A.",
        prompt_config=PromptConfig(initial_messages=["Do it."]),
        tool_config=ToolConfig(tools=["mcp__office", _near], defer=defer),
    )

    watched = await watch(
        [through("mcp__office__echo", text="hi"), DONE], agent, executor={"tool_registry": registry}
    )
    await toolset.aclose()

    (names, *_) = offered(watched.client)
    assert (names == ["near", *BOTH]) is is_deferred
    if is_deferred:
        assert "31 are available" in watched.client.requests[0].tools[1].description
        assert "office" in watched.client.requests[0].tools[1].description
        assert "hi" in results_in(watched.result.messages)[0]


@tool(name="near", effect="pure")
async def _near() -> str:
    """Is always at hand."""
    return "here"


async def test_five_hundred_tools_cost_a_few_hundred_tokens_and_are_found_by_what_they_do() -> None:
    verbs = ("create", "list", "update", "delete", "archive")
    nouns = tuple(
        f"{kind}_{part}"
        for kind in ("issue", "invoice", "calendar", "branch", "customer")
        for part in range(20)
    )

    def made(verb: str, noun: str) -> Any:
        async def act(identifier: str, note: str = "") -> str:
            return f"{verb} {noun}"

        return tool(
            name=f"{verb}_{noun}",
            description=f"{verb.title()}s the {noun.replace('_', ' number ')}.",
            effect="pure",
        )(act)

    tools = [made(verb, noun) for verb in verbs for noun in nouns]
    agent = AgentDefinition(
        "a",
        "A.",
        prompt_config=PromptConfig(initial_messages=["Do it."]),
        tool_config=ToolConfig(tools=tools, defer=True),
    )

    script: Script = [
        call("search_tools", query="archive an old invoice 7", limit=3),
        through("archive_invoice_7", identifier="x"),
        DONE,
    ]
    watched = await watch(script, agent)

    assert len(tools) == 500
    assert tool_tokens(watched.client.requests[0].tools) < 400 < tool_tokens(tools) / 20
    found, result = results_in(watched.result.messages)
    assert found.startswith("archive_invoice_7: ")
    assert found.count("\n\n") == 2
    assert result == "archive invoice_7"
