"""What has to hold for every example: a typed error or a sound answer, and a conversation that can go on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fuzz.codec import CODECS, KEY
from fuzz.example import Example, undamaged
from fuzz.prepared import completed
from maverick import AgentDefinition, ToolConfig, tool
from maverick.exceptions import AgentError, StreamingError
from maverick.loop.entries import ModelCalled, ModelReplied, RunStarted, ToolFinished, ToolsStarted
from maverick.loop.machine import AgentLoop
from maverick.loop.result import ToolOutcome
from maverick.loop.steps import CallModel, Finish, RunTools, Step
from maverick.model import (
    Message,
    ModelInfo,
    Request,
    Response,
    StopReason,
    StreamItem,
    TextDelta,
    ThinkingDelta,
    ToolCall,
)
from maverick.providers import Client
from maverick.providers.client import open_stream
from simulation.simulator import check_history

_ASKED = Message.user("Go on.")
CUT_SHORT = frozenset({StopReason.MAX_TOKENS, StopReason.CONTEXT_OVERFLOW})
"""The reasons to stop that cut an answer off."""
_RUNS_NOTHING = CUT_SHORT | {StopReason.REFUSAL}
"""The reasons to stop after which no call of an answer may be run."""


@tool(effect="pure")
async def add(a: int = 0, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="pure")
async def write_file(path: str = "") -> str:
    """Write a file."""
    return path


_TOOLS = {made.name: made for made in (add, write_file)}
_AGENT = AgentDefinition("fuzzed", "Reads what it gets.", tool_config=ToolConfig(tools=list(_TOOLS.values())))


def check(example: Example) -> Response | AgentError:
    """Give the example to its client and check what comes of it."""
    outcome = outcome_of(example)
    if isinstance(outcome, AgentError):
        _check_error(outcome)
    else:
        _check_next_turn(outcome)
    _check_against_original(example, outcome)
    return outcome


def outcome_of(example: Example) -> Response | AgentError:
    """What the client makes of the example; anything but these two is a failure of the client."""
    client = example.codec.client_of(example.answer)
    request = Request([_ASKED])
    try:
        return completed(_listen(client, request) if example.streamed else client.run(request))
    except AgentError as error:
        return error


async def _listen(client: Client, request: Request) -> Response:
    items: list[StreamItem] = []
    async with open_stream(client, request) as stream:
        async for item in stream:
            items.append(item)  # noqa: PERF401 - an error must not lose what came before it
    *deltas, response = items
    assert isinstance(response, Response)
    said = [delta.text for delta in deltas if isinstance(delta, TextDelta)]
    thought = [delta.text for delta in deltas if isinstance(delta, ThinkingDelta)]
    assert not any(isinstance(item, Response) for item in deltas), "a response that is not the last item"
    assert sum(map(len, said)) == len(response.content)
    assert sum(map(len, thought)) == len(response.message.thinking)
    return response


def _check_error(error: AgentError) -> None:
    assert type(error).__module__ == "maverick.exceptions"
    assert str(error).endswith((".", ")")), "a message is a sentence"
    assert KEY not in str(error)
    if isinstance(error, StreamingError):
        for message in error.partial_messages:
            last = message.parts[-1]
            assert not isinstance(last, ToolCall) or last.malformed, "a call that may be cut off looks whole"


def _check_against_original(example: Example, outcome: Response | AgentError) -> None:
    """What was only sliced is what was sent; what was only cut is that too, or an error."""
    if set(example.damages) - {"cut"}:
        return
    if example.damages and isinstance(outcome, AgentError):
        return
    original = outcome_of(undamaged(example.codec, example.sample, streamed=example.streamed))
    assert isinstance(original, Response)
    if not example.damages and example.answer.breaks_with is None:
        assert outcome == original
    elif isinstance(outcome, Response):
        assert (outcome.parts, outcome.stop_reason) == (original.parts, original.stop_reason)


def _check_next_turn(response: Response) -> None:
    """The loop takes the answer, runs nothing that is broken, and every provider would take what follows."""
    loop: AgentLoop[Any] = AgentLoop(_AGENT, _TOOLS)
    step: Step = loop.feed(
        RunStarted(
            at=0.0,
            run_id="run",
            trace_id="trace",
            agent=(_AGENT.name,),
            system="",
            messages=(_ASKED,),
            head=1,
            limits=_AGENT.run_config.limits,
            info=ModelInfo(),
        )
    )
    loop.feed(ModelCalled(at=0.0, turn=1))
    step = loop.feed(ModelReplied(at=0.0, response=response))
    if isinstance(step, RunTools):
        step = _run_tools(loop, step, response)
    messages = step.result.messages if isinstance(step, Finish) else loop.conversation.history
    check_history(messages)
    following = Request((*messages, Message.user("And now?")))
    checks = (_check_claude_wire, _check_openai_wire, _check_responses_wire)
    for codec, check_wire in zip(CODECS, checks, strict=True):
        check_wire(codec.encode(following))


def _run_tools(loop: AgentLoop[Any], step: RunTools, response: Response) -> Step:
    run = [planned for planned in step.calls if not planned.refusal]
    assert not any(planned.call.malformed for planned in run)
    assert not run or response.stop_reason not in _RUNS_NOTHING
    loop.feed(ToolsStarted(at=0.0, turn=1))
    for planned in step.calls:
        latest = loop.feed(
            ToolFinished(at=0.0, index=planned.index, outcome=ToolOutcome.FINISHED, content="done")
        )
    assert isinstance(latest, CallModel | Finish)
    return latest


def _check_claude_wire(messages: Sequence[dict[str, Any]]) -> None:
    assert [message["role"] for message in messages[:1]] == ["user"]
    assert all(message["content"] for message in messages)
    for before, after in pairwise(messages):
        assert before["role"] != after["role"], "the sides take turns"
        uses = [block for block in before["content"] if block["type"] == "tool_use"]
        assert all(use["name"] for use in uses), "a call without a name"
        results = [block["tool_use_id"] for block in after["content"] if block["type"] == "tool_result"]
        assert results == [use["id"] for use in uses]


def _check_openai_wire(messages: Sequence[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting.pop(0) == message["tool_call_id"]
            continue
        assert not waiting, "a call without its result"
        calls = message.get("tool_calls", [])
        assert message.get("content") or calls, "an empty message"
        assert all(call["function"]["name"] for call in calls), "a call without a name"
        waiting = [call["id"] for call in calls]
    assert not waiting


def _check_responses_wire(items: Sequence[dict[str, Any]]) -> None:
    waiting: list[str] = []
    for item in items:
        if item.get("type") == "function_call" and item.get("status") != "in_progress":
            assert item["name"], "a call without a name"
            waiting.append(item["call_id"])
        elif item.get("type") == "function_call_output" and item.get("call_id") in waiting:
            waiting.remove(item["call_id"])
    assert not waiting, "a call without its result"
    assert items[-1].get("type") != "reasoning", "reasoning without what it led to"
