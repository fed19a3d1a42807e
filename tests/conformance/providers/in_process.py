"""The providers without a wire: the scripted client and the offline model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import ClassVar

from conformance.providers.failures import FAILURES
from conformance.providers.provider import Provider, Stage, in_turn
from conformance.providers.scenarios import LOOP_TURNS, Scenario
from maverick import connect
from maverick.model import LLMClient, Request, Role, StopReason, ToolCall, Usage
from maverick.testing import ScriptedClient, Turn, call, calls, reply, turn
from wire.made_up import made_up

_NO_WIRE: Mapping[Scenario, str] = {
    **dict.fromkeys([*FAILURES["whole"], *FAILURES["streamed"]], "it has no wire on which that could happen"),
    Scenario.PARTIAL: "it has no wire on which that could happen",
    Scenario.TLS: "it has no wire to secure",
    Scenario.HALF_A_CHARACTER: "there is no JSON to mend between it and its caller",
}
_A_LONG_TIME = 3600.0

_ANSWERS: Mapping[Scenario, Turn] = {
    Scenario.TEXT: reply(Provider.hello),
    Scenario.CACHED: reply(Provider.hello, usage=Usage(118, 42, cache_read_tokens=11, cache_write_tokens=7)),
    Scenario.TOOL: calls(call("add", a=2, b=3), text="Let me see."),
    Scenario.PARALLEL_TOOLS: calls(call("add", a=1, b=2), call("add", a=3, b=4), call("now")),
    Scenario.THINKING: reply("Five.", thinking="The sum of two numbers."),
    Scenario.REFUSAL: reply("I can't help with that.", stop_reason=StopReason.REFUSAL),
    Scenario.MAX_TOKENS: reply("It was a dark and", stop_reason=StopReason.MAX_TOKENS),
    Scenario.PAUSE: reply("Still at it.", stop_reason=StopReason.PAUSE),
    Scenario.TOOL_CUT_OFF: turn(
        call("add", a=1, b=2),
        ToolCall("call_2", "write_file", malformed='{"path": "a.txt", "content": "once upon'),
        stop_reason=StopReason.MAX_TOKENS,
    ),
    Scenario.TOOL_CUT_BEFORE_ARGUMENTS: turn(
        ToolCall("call_1", "delete_everything", malformed="{}"), stop_reason=StopReason.MAX_TOKENS
    ),
    Scenario.TOOL_ARGUMENTS_MALFORMED: turn(ToolCall("call_1", "add", malformed='{"a": 1, "b": ')),
    Scenario.UNFINISHED: reply(Provider.hello, pace=_A_LONG_TIME),
    Scenario.UNANSWERED: reply(Provider.hello, delay=_A_LONG_TIME),
}


class ScriptedProvider(Provider):
    """The client that follows a script."""

    name = "scripted"
    cannot = _NO_WIRE

    @asynccontextmanager
    async def stage(self, *scenarios: Scenario) -> AsyncIterator[Stage]:
        yield Stage(scripted_client(*scenarios))


class OfflineProvider(Provider):
    """The offline model."""

    name = "offline"
    hello = (
        "This is Maverick's offline model, which is no language model: it only calls tools. "
        "Name a tool and give its values, for example in quotation marks.\n"
        "There are no tools here.\nFor a real model, set ANTHROPIC_API_KEY and start again."
    )
    cannot: ClassVar[Mapping[Scenario, str]] = {
        **_NO_WIRE,
        Scenario.CACHED: "it has no cache",
        Scenario.ECHO: "it answers questions and repeats nothing",
        Scenario.LOOP: "it calls the tools of a request once",
        Scenario.PARALLEL_TOOLS: "it calls one tool for a request",
        Scenario.THINKING: "it does not think",
        Scenario.REFUSAL: "it refuses nothing",
        Scenario.PAUSE: "it answers in one go",
        Scenario.TOOL_CUT_OFF: "its calls are whole or not made",
        Scenario.TOOL_CUT_BEFORE_ARGUMENTS: "its calls are whole or not made",
        Scenario.TOOL_ARGUMENTS_MALFORMED: "its calls are well formed",
        Scenario.UNANSWERED: "it answers at once",
    }

    @asynccontextmanager
    async def stage(self, *scenarios: Scenario) -> AsyncIterator[Stage]:
        pace = _A_LONG_TIME if scenarios[0] is Scenario.UNFINISHED else 0.0
        async with connect("offline:", pace=pace) as client:
            yield Stage(client)


def scripted_client(*scenarios: Scenario) -> LLMClient:
    """A client that behaves as these scenarios say, one request after the other."""
    return in_turn([_scripted(scenario) for scenario in scenarios])


def _scripted(scenario: Scenario) -> ScriptedClient:
    match scenario:
        case Scenario.ECHO:
            return ScriptedClient(lambda request: reply(request.messages[-1].content))
        case Scenario.LOOP:
            return ScriptedClient(_next_of_loop)
        case Scenario.STRUCTURED:
            return ScriptedClient(_made_up)
    answer = _ANSWERS[scenario]
    return ScriptedClient(lambda _: answer)


def _next_of_loop(request: Request) -> Turn:
    results = sum(message.role is Role.TOOL_RESULT for message in request.messages)
    if results == LOOP_TURNS:
        return reply(f"done after {results}")
    return calls(call("add", a=results, b=1))


def _made_up(request: Request) -> Turn:
    assert request.output is not None
    return reply(json.dumps(made_up(dict(request.output.schema))))
