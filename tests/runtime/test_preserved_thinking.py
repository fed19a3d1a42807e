"""Signed thinking goes back only behind the request it was thought on, as newer Claude models demand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from maverick import AgentDefinition, AgentExecutor, ModelConfig, RunConfig, ToolConfig, connect, tool
from maverick.config import AgentConfig
from maverick.exceptions import ErrorKind, ProviderError
from maverick.journal import MemoryJournal
from maverick.loop.events import Compacted
from maverick.model import History, Message, Request, Response, StopReason, Text, Thought, ToolCall, Usage
from maverick.model.history import dump_messages, load_messages
from maverick.providers import Client
from maverick.providers.wrappers.fallback import FallbackClient
from maverick.testing import ScriptedClient
from wire.claude_server import ClaudeServer

PAGES = 30


@tool(effect="pure")
async def read(page: int) -> str:
    """Read a page."""
    return f"page {page}: " + "star " * 150


@tool(effect="pure")
async def count(page: int) -> str:
    """Count the stars of a page."""
    return f"{page} stars"


def prefix(request: Request, messages: list[Message]) -> str:
    """What a signature is bound to: the system prompt, the tools, and the messages before it."""
    tools = [(tool.name, tool.parameters) for tool in request.tools]
    return hashlib.sha256(repr((request.system, tools, messages)).encode()).hexdigest()


class StrictModel:
    """Thinks before each call, and refuses a thought behind another prefix than it was thought on."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.thoughts = 0
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Any:
        self.requests.append(request)
        messages = list(request.messages)
        for index, message in enumerate(messages):
            for part in message.parts:
                if isinstance(part, Thought) and part.signature != prefix(request, messages[:index]):
                    raise ProviderError(
                        "Invalid signature in thinking block.", kind=ErrorKind.INVALID, status=400
                    )
        if "Condense" in messages[0].content:
            return Response((Text("Nothing but stars."),), usage=Usage(10, 5))
        thought = Thought("Hm.", prefix(request, messages))
        self.thoughts += 1
        usage = Usage(sum(len(message.content) for message in messages) // 4, 10)
        if self.thoughts > self.turns:
            return Response((thought, Text("Many.")), usage=usage)
        call = ToolCall(f"call_{self.thoughts}", "read", {"page": self.thoughts})
        return Response((thought, call), usage=usage, stop_reason=StopReason.TOOL_USE)


def reader(*tools: Any, **limits: int) -> AgentDefinition:
    return AgentDefinition(
        name="reader",
        description="Reads.",
        model_config=ModelConfig(model="scripted:", context_window=2_000, max_tokens=200),
        tool_config=ToolConfig(tools=tools),
        run_config=RunConfig(max_turns=50, **limits),
    )


@pytest.mark.requirement("P3")
async def test_thinking_is_left_out_behind_a_condensed_conversation() -> None:
    model = StrictModel(PAGES)
    events: list[object] = []

    result = await AgentExecutor(ScriptedClient(model)).execute(
        reader(read), inputs={"prompt": "Count the stars."}, on_activity=events.append
    )

    assert result.success, result.errors
    assert sum(isinstance(event, Compacted) for event in events) >= 2
    kept = [message.thinking for request in model.requests for message in request.messages]
    assert any(kept), "thinking goes back while nothing before it has changed"


@pytest.mark.requirement("P3")
async def test_thinking_is_left_out_when_a_run_goes_on_with_other_tools() -> None:
    model = StrictModel(4)
    journal = MemoryJournal()
    executor = AgentExecutor(ScriptedClient(model), journal=journal)
    stopped = reader(read, max_tool_calls=2)
    await executor.execute(stopped, inputs={"prompt": "Count the stars."}, run_id="stars")

    result = await executor.resume("stars", reader(read, count), accept_changes=True)

    assert result.success, result.errors


def of_claude(server: ClaudeServer, model: str, scenario: str = "thinking") -> Client:
    return connect(f"claude:{model}", api_key="k", base_url=server.at(scenario), settings=AgentConfig())


def sent_thinking(server: ClaudeServer) -> list[tuple[str, bool]]:
    """The model of each request, and whether it was sent thoughts."""
    return [
        (asked.body["model"], any(kind in str(asked.body["messages"]) for kind in ("'thinking'", "redacted")))
        for asked in server.received
    ]


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        pytest.param(lambda said: said, 3, id="as it was"),
        pytest.param(lambda said: [*said], 3, id="as a list"),
        pytest.param(lambda said: load_messages(dump_messages(said)), 3, id="kept elsewhere"),
        pytest.param(lambda said: said[:3], 1, id="its beginning"),
        pytest.param(lambda said: [Message.user("Else."), *said[1:]], 0, id="another question"),
        pytest.param(lambda said: [said[0], *said[3:]], 0, id="the first exchange dropped"),
        pytest.param(
            lambda said: [Message.user("Before."), Message.assistant("Yes."), *said],
            0,
            id="words put in front",
        ),
        pytest.param(
            lambda said: [
                *said[:2],
                Message.tool_result(said[2].tool_call_id, "Another page."),
                *load_messages(dump_messages(said))[3:],
            ],
            1,
            id="another result",
        ),
    ],
)
async def test_thinking_is_left_out_behind_messages_that_the_caller_has_edited(
    edit: Callable[[Any], Sequence[Message]], kept: int
) -> None:
    model = StrictModel(turns=2)
    first = await AgentExecutor(ScriptedClient(model)).execute(reader(read), inputs={"prompt": "Read."})

    again = await AgentExecutor(ScriptedClient(model)).execute(
        reader(read), inputs={"prompt": "And now?"}, messages=edit(first.messages)
    )

    sent = [part for message in model.requests[3].messages for part in message.parts]
    assert (first.success, again.success) == (True, True), again.error
    assert len([part for part in sent if isinstance(part, Thought)]) == kept


@pytest.mark.requirement("P3")
async def test_thinking_of_before_which_does_not_say_what_it_was_made_behind_is_sent_as_it_is() -> None:
    client = ScriptedClient([Response((Thought("Hm.", "signed"), Text("Five.")))])
    first = await AgentExecutor(client).execute(reader(), inputs={"prompt": "Two and three?"})
    old = json.loads(dump_messages(first.messages))
    del old["messages"][1]["parts"][0]["behind"]

    asked = ScriptedClient(["Still five."])
    await AgentExecutor(asked).execute(
        reader(),
        inputs={"prompt": "Sure?"},
        messages=[Message.user("Else."), *load_messages(json.dumps(old))[1:]],
    )

    assert asked.requests[0].messages[1].parts[0] == Thought("Hm.", "signed")


@pytest.mark.requirement("P3")
async def test_thinking_goes_back_to_the_model_that_thought_it_and_to_no_other() -> None:
    greeter = AgentDefinition(name="greeter", description="Greets.")
    async with (
        ClaudeServer() as server,
        of_claude(server, "opus") as opus,
        of_claude(server, "sonnet") as sonnet,
    ):
        first = await AgentExecutor(opus).execute(greeter, inputs={"prompt": "Two and three?"})
        said = load_messages(dump_messages(first.messages))
        for client in (opus, sonnet, opus):
            await AgentExecutor(client).execute(greeter, inputs={"prompt": "Sure?"}, messages=said)

    assert sent_thinking(server) == [("opus", False), ("opus", True), ("sonnet", False), ("opus", True)]
    assert "Five." in str(server.received[2].body["messages"])


@pytest.mark.requirement("P3")
async def test_a_fallback_sends_each_model_its_own_thinking() -> None:
    async with (
        ClaudeServer() as server,
        of_claude(server, "opus") as opus,
        of_claude(server, "sonnet") as sonnet,
        of_claude(server, "opus", "overloaded") as busy,
    ):
        history = History([Message.user("Two and three?")])
        for clients in ([opus, sonnet], [busy, sonnet], [opus, sonnet], [busy, sonnet]):
            response = await FallbackClient(clients).run(Request(history))
            history = history.extended(response.message, Message.user("Sure?"))

    thoughts = [str(asked.body["messages"]).count("redacted_thinking") for asked in server.received]
    models = [asked.body["model"] for asked in server.received]
    assert models == ["opus", "opus", "sonnet", "opus", "opus", "sonnet"]
    assert thoughts == [0, 1, 0, 1, 2, 1]
