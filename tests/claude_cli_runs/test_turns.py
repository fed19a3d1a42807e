"""A run on the Claude Code CLI is a run like any other: the same turns, events, tools and results."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel

from canary import CANARY
from claude_cli_runs.scripted_api import Body, Serve, calls, conversation, in_turn, ours, says, see
from maverick import AgentExecutor, Document, Image, ModelConfig, OutputConfig, Text, ToolContext, tool
from maverick.loop.events import ToolCallEnd, ToolCallStart
from maverick.loop.result import ToolOutcome
from maverick.model import Message, Opaque, Request, Response, TextDelta
from maverick.providers.claude_cli import cli_tool
from maverick.providers.wrappers.limiter import LimitedClient, RateLimiter
from maverick.testing import ScriptedClient, call, reply
from maverick.testing import calls as calls_of
from media_files import pdf, png
from scenario import agent, assert_valid


@tool
async def add(a: int, b: int, ctx: ToolContext) -> str:
    """Add two numbers."""
    return f"{a + b} for {ctx.user_id} under {ctx.idempotency_key}"


@pytest.mark.requirement("005-RUN", "005-RUN-TOOLS", "P2", "P3", "P6")
async def test_tools_of_ours_are_run_by_the_loop_as_for_any_other_model(serve: Serve) -> None:
    sums: list[dict[str, Any]] = [{"a": 1, "b": 2}, {"a": 1, "b": "two"}]
    api = await serve(in_turn(calls(*((ours("add"), each) for each in sums), words="Well. "), says("Three.")))
    on_the_cli = await see(api.client(), agent(add), run_id="r", user_id="ana")
    turns = [calls_of(*(call("add", **each) for each in sums)), reply("Three.")]
    scripted = await see(ScriptedClient(turns), agent(add), run_id="r", user_id="ana")

    result = on_the_cli.result
    assert (result.success, result.output, result.turn_count) == (True, "Three.", 2)
    assert [record.outcome for record in result.tool_calls] == [ToolOutcome.FINISHED, ToolOutcome.FAILED]
    told = [record.result for record in result.tool_calls]
    assert told == [record.result for record in scripted.result.tool_calls]
    assert told[0] == "3 for ana under r/1/0"
    assert conversation(api.bodies[1]) == [
        ("user", ["Do it."]),
        ("assistant", ["Well. ", *((ours("add"), each) for each in sums)]),
        ("user", told),
    ]
    assert_valid(result.messages)
    without_words = [kind for kind in on_the_cli.types if kind != "content_chunk"]
    assert without_words == [kind for kind in scripted.types if kind != "content_chunk"]
    assert result.usage.total_cost_usd == pytest.approx(0.0019191)  # what the CLI itself reckons
    (offered,) = api.bodies[0]["tools"]
    assert offered["input_schema"]["properties"].keys() == {"a", "b"}


@tool(max_output=200_000)
async def recite() -> str:
    """Say something long."""
    return "word " * 30_000


@pytest.mark.requirement("005-RUN-OWN-TOOLS", "P3")
async def test_tools_of_the_cli_and_ours_go_through_the_same_loop(serve: Serve) -> None:
    def model(body: Body, number: int) -> Any:
        if number > 1:
            return says("All done.")
        return calls(
            (ours("add"), {"a": 1, "b": 1}),
            ("Bash", {"command": "echo made > made.txt; cat made.txt"}),
            ("Read", {"file_path": str(api.work / "made.txt")}),
            (ours("add"), {"a": 2, "b": 2}),
            ("Bash", {"command": "exit 3"}),
            (ours("recite"), {}),
        )

    api = await serve(model)
    worker = agent(add, recite, cli_tool("Bash"), cli_tool("Read"))
    limited = LimitedClient(api.client(), RateLimiter(requests_per_minute=1000))
    watched = await see(limited, worker, run_id="r", user_id="ana")

    result = watched.result
    assert [(record.tool_name, record.outcome.value) for record in result.tool_calls] == [
        ("add", "finished"),
        ("Bash", "finished"),
        ("Read", "finished"),
        ("add", "finished"),
        ("Bash", "failed"),
        ("recite", "finished"),
    ]
    assert result.tool_calls[1].result == "made"
    assert "made" in result.tool_calls[2].result
    assert "Exit code 3" in result.tool_calls[4].result
    started = [event.tool_call.id for event in watched.events if isinstance(event, ToolCallStart)]
    ended = [event.tool_call_id for event in watched.events if isinstance(event, ToolCallEnd)]
    assert sorted(started) == sorted(ended)
    assert_valid(result.messages)
    assert (len(api.bodies), result.turn_count) == (2, 2)
    told = [record.result.rstrip() for record in result.tool_calls]
    assert conversation(api.bodies[1])[-1] == ("user", told)


class Report(BaseModel):
    city: str


@pytest.mark.requirement("005-RUN")
async def test_a_definition_that_names_the_cli_needs_no_client_and_its_answer_is_repaired_if_it_does_not_fit(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = await serve(in_turn(says("Brest."), says('{"city": "Brest"}')))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("HOME", str(api.folder / "home"))
    monkeypatch.chdir(api.work)
    model = ModelConfig(model="claude-code:claude-sonnet-4-5")
    reporter = agent(model=model, output=OutputConfig("report", Report))
    async with AgentExecutor() as executor:
        result = await executor.execute(reporter)

    assert result.output == Report(city="Brest")
    assert api.bodies[0]["model"] == "claude-sonnet-4-5"
    roles = [role for role, _ in conversation(api.bodies[1])]
    assert roles == ["user", "assistant", "user"]


@pytest.mark.requirement("002-R1", "005-RUN", "P9")
async def test_one_turn_without_a_loop_takes_the_whole_conversation_and_leaves_it_nowhere(
    serve: Serve,
) -> None:
    api = await serve(in_turn(calls((ours("add"), {"a": 1, "b": 2})), says("Three.")))
    client = api.client()
    asked = [Message.user("How much is 1 + 2?")]
    first = await client.run(Request(asked, [add]))
    (wanted,) = first.tool_calls
    answered = [*asked, first.message, Message.tool_result(wanted.id, "3")]
    items = [item async for item in client.stream(Request(answered, [add]))]

    assert (wanted.tool_name, wanted.arguments) == ("add", {"a": 1, "b": 2})
    assert isinstance(items[-1], Response)
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == "Three."
    told = conversation(api.bodies[1])
    assert told[:3] == [
        ("user", ["How much is 1 + 2?"]),
        ("assistant", [(ours("add"), {"a": 1, "b": 2})]),
        ("user", ["3"]),
    ]
    left = [path for path in api.folder.rglob("*") if path.is_file() and b"1 + 2" in path.read_bytes()]
    assert left == []


@pytest.mark.requirement("005-RUN", "P6")
async def test_runs_on_one_client_and_an_agent_within_another_do_not_mix(serve: Serve) -> None:
    def model(body: Body, number: int) -> Any:
        said = conversation(body)
        task = said[0][1][0]
        if len(said) > 1:
            return says(f"{task} {said[-1][1][0]}")
        return calls((ours("child"), {})) if task == "Ask." else calls(("Bash", {"command": f"echo {task}"}))

    api = await serve(model)
    client = api.client()
    child = agent(cli_tool("Bash"), name="child", ask="inner")
    parent = agent(child.as_tool(), name="parent", ask="Ask.")
    single = agent(cli_tool("Bash"), name="single", ask="outer")
    executor = AgentExecutor(client)
    both = await asyncio.gather(executor.execute(parent), executor.execute(single))

    assert [result.output for result in both] == ["Ask. inner inner", "outer outer"]
    assert both[0].usage.input_tokens == 4 * 118


async def test_images_and_documents_reach_the_model_in_prompts_and_when_a_conversation_goes_on(
    serve: Serve,
) -> None:
    shelf, paper = Image.from_bytes(png(), name="shelf.png"), Document.from_bytes(pdf(), name="list.pdf")
    cited = Opaque("claude", {"type": "text", "text": "A shelf.", "citations": []})

    @tool(effect="pure")
    async def look() -> list[str | Image]:
        """Look closer."""
        return ["Closer:", shelf]

    api = await serve(in_turn(calls((ours("look"), {})), says("Three cups."), says("Blue.")))
    seer = agent(look, ask="${prompt}")
    executor = AgentExecutor(api.client())
    earlier = [Message.user("What is it?"), Message.assistant([Text("A shelf.", cited)])]
    first = await executor.execute(seer, inputs={"prompt": ["Count:", shelf, paper]}, messages=earlier)
    second = await executor.execute(seer, inputs={"prompt": "Which colour?"}, messages=first.messages)

    assert (first.output, second.output) == ("Three cups.", "Blue.")
    sent = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf"}},
    ]
    for body in (api.bodies[0], api.bodies[2]):
        assert [block for block in _blocks(body) if block in sent][:2] == sent
    assert "[image: shelf.png]" in str(api.bodies[1]["messages"][-1])
    (result,) = [block for block in _blocks(api.bodies[2]) if block["type"] == "tool_result"]
    assert result["content"][1] == sent[0]


async def test_a_file_of_a_provider_is_refused_before_the_cli_is_started(serve: Serve) -> None:
    api = await serve(in_turn())

    result = await AgentExecutor(api.client()).execute(
        agent(ask="${prompt}"), inputs={"prompt": [Image.from_file_id("file_1")]}
    )

    assert "takes no file ids" in str(result.error)
    assert api.bodies == []


def _blocks(body: Body) -> list[dict[str, Any]]:
    """The blocks of all messages, without data and cache markers."""
    text = json.dumps(body["messages"])
    plain = json.loads(text, object_hook=lambda found: {k: v for k, v in found.items() if k not in _NOISE})
    return [
        block for message in plain if isinstance(message["content"], list) for block in message["content"]
    ]


_NOISE = ("data", "cache_control", "title")
