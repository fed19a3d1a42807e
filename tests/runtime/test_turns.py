"""The loop through the executor: what the model is sent, turn by turn, and what comes back."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from maverick import (
    AgentDefinition,
    AgentExecutor,
    InputConfig,
    ModelConfig,
    PromptConfig,
    TerminateReason,
    ToolConfig,
    ToolContext,
    ToolRegistry,
    tool,
)
from maverick.exceptions import InvalidInputError, InvalidToolError
from maverick.loop import ToolOutcome
from maverick.model import ExecutionMetrics, Message, Response, Role, Text, Thought, ToolCall, Usage
from maverick.testing import ScriptedClient, call, calls, reply, turn
from scenario import agent, assert_valid, results_in, run


@tool
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return f"sunny in {city}"


class Clock:
    """A tool written as a class; its second parameter takes the context."""

    name = "clock"
    description = "Tells the time."
    parameters: ClassVar[dict[str, Any]] = {"type": "object", "properties": {}}

    async def execute(self, args: dict[str, Any], context: ToolContext | None = None) -> dict[str, str]:
        return {"time": "noon", "turn": str(context.turn if context else None)}


@pytest.mark.requirement("003-FR2", "002-R4-COMPLETE", "003-API-RESULT")
async def test_a_model_that_asks_for_nothing_ends_the_run_with_its_words() -> None:
    result = await run([reply("Hello.", usage=Usage(7, 3))], agent())

    assert (result.success, result.output, result.raw_content) == (True, "Hello.", "Hello.")
    assert result.terminate_reason is TerminateReason.COMPLETE
    assert (result.error, list(result.errors), result.turn_count) == (None, [], 1)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 3)
    assert list(result.messages) == [Message.user("Do it."), Message.assistant("Hello.")]
    assert list(result.tool_calls) == []


@pytest.mark.requirement("003-FR2", "003-FR2-AC5", "002-R4", "002-R4-SEND", "002-R4-TOOLS", "003-G1")
async def test_each_request_has_all_that_was_said_before_in_order() -> None:
    client = ScriptedClient(
        [
            ["Let me see.", call("get_weather", city="Brest")],
            calls(call("get_weather", city="Rome"), call("get_weather", city="Oslo")),
            "All sunny.",
        ]
    )

    result = await run(client, agent(get_weather))

    conversation = [
        Message.user("Do it."),
        Message.assistant([Text("Let me see."), ToolCall("call_1", "get_weather", {"city": "Brest"})]),
        Message.tool_result("call_1", "sunny in Brest"),
        Message.assistant(
            [
                ToolCall("call_2", "get_weather", {"city": "Rome"}),
                ToolCall("call_3", "get_weather", {"city": "Oslo"}),
            ]
        ),
        Message.tool_result("call_2", "sunny in Rome"),
        Message.tool_result("call_3", "sunny in Oslo"),
        Message.assistant("All sunny."),
    ]
    assert [list(request.messages) for request in client.requests] == [
        conversation[:1],
        conversation[:3],
        conversation[:6],
    ]
    assert list(result.messages) == conversation
    assert result.turn_count == 3


@pytest.mark.requirement("F-HISTORY")
async def test_a_request_once_made_does_not_change_when_the_run_goes_on() -> None:
    lengths: list[int] = []
    client = ScriptedClient(lambda request: remember(request) if len(request.messages) < 9 else "done")

    def remember(request: Any) -> Any:
        lengths.append(len(request.messages))
        return call("get_weather", city="Brest")

    await run(client, agent(get_weather))

    assert lengths == [1, 3, 5, 7]
    assert [len(request.messages) for request in client.requests] == [1, 3, 5, 7, 9]


@pytest.mark.requirement("002-R2", "003-API-EXECUTOR")
async def test_the_model_is_offered_the_tools_and_told_the_settings() -> None:
    client = ScriptedClient(["ok"])
    model = ModelConfig(model="scripted:big", temperature=0.5, max_tokens=77)

    await run(client, agent(get_weather, Clock(), model=model))

    (request,) = client.requests
    assert [offered.name for offered in request.tools] == ["get_weather", "clock"]
    assert (request.config.model, request.config.temperature, request.config.max_tokens) == (
        "scripted:big",
        0.5,
        77,
    )


@pytest.mark.requirement("002-R2", "002-AC2")
async def test_a_tool_written_as_a_class_is_run_with_its_context() -> None:
    result = await run([call("clock"), "ok"], agent(Clock()))

    assert results_in(result.messages) == ['{"time":"noon","turn":"1"}']


@pytest.mark.requirement("003-API-EXECUTOR")
async def test_tools_that_are_only_named_are_found_in_the_registry() -> None:
    registry = ToolRegistry([get_weather])
    client = ScriptedClient([call("get_weather", city="Brest"), "ok"])

    result = await AgentExecutor(client, registry).execute(agent("get_weather"))

    assert results_in(result.messages) == ["sunny in Brest"]


async def test_a_named_tool_that_is_not_in_the_registry_is_an_error_before_the_run() -> None:
    client = ScriptedClient(["never asked"])

    with pytest.raises(InvalidToolError, match="Did you mean 'get_weather'"):
        await AgentExecutor(client, ToolRegistry([get_weather])).execute(agent("get_wether"))

    assert client.requests == []


@pytest.mark.requirement("003-DATA-FLOW", "003-API-EXECUTOR", "003-FR1-AC3")
async def test_inputs_are_put_into_the_system_prompt_and_the_first_message() -> None:
    definition = AgentDefinition(
        "reporter",
        "Reports.",
        PromptConfig("Write for ${audience}.", ["Report on ${cities}."]),
        input_config=InputConfig({"audience": str, "cities": list[str]}),
    )
    client = ScriptedClient(["ok"])

    await AgentExecutor(client).execute(definition, inputs={"audience": "sailors", "cities": ["Brest"]})

    (request,) = client.requests
    assert request.system == "Write for sailors."
    assert request.messages[0].content == 'Report on ["Brest"].'


async def test_a_wrong_input_is_an_error_before_the_model_is_called() -> None:
    client = ScriptedClient(["never asked"])

    with pytest.raises(InvalidInputError, match="Did you mean 'prompt'"):
        await AgentExecutor(client).execute(AgentDefinition("a", "b"), inputs={"promt": "x"})

    assert client.requests == []


async def test_an_earlier_conversation_is_continued() -> None:
    earlier = [Message.user("I am Ana."), Message.assistant("Hello Ana.")]
    client = ScriptedClient(["You are Ana."])

    result = await run(client, agent(ask="Who am I?"), messages=earlier)

    assert list(client.requests[0].messages) == [*earlier, Message.user("Who am I?")]
    assert list(result.messages) == [*earlier, Message.user("Who am I?"), Message.assistant("You are Ana.")]


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    "earlier",
    [
        [Message.user("Hi."), Message.assistant([ToolCall("a", "get_weather")])],
        [Message.user("Hi."), Message.tool_result("a", "an answer to nothing")],
        ["Hi."],
    ],
    ids=["open call", "stray result", "no message"],
)
async def test_an_earlier_conversation_no_provider_would_take_is_refused_by_name(earlier: Any) -> None:
    client = ScriptedClient(["never"])

    with pytest.raises(InvalidInputError) as caught:
        await run(client, agent(get_weather), messages=earlier)

    assert caught.value.field == "messages"
    assert client.requests == []


async def test_thoughts_stay_in_the_conversation_and_out_of_the_output() -> None:
    thought = Thought("hm", signature="signed")

    result = await run([turn(thought, "Yes.")], agent())

    kept, said = result.messages[-1].parts
    assert (result.output, said) == ("Yes.", Text("Yes."))
    assert isinstance(kept, Thought)
    assert replace(kept, behind="") == thought


@pytest.mark.requirement("P2", "P6")
async def test_every_call_has_a_key_of_its_own_and_knows_its_run_and_user() -> None:
    seen: list[ToolContext] = []

    @tool
    async def act(ctx: ToolContext, what: str) -> str:
        """Act."""
        seen.append(ctx)
        return what

    client = ScriptedClient(
        [calls(call("act", what="a"), call("act", what="b")), call("act", what="c"), "ok"]
    )
    await run(client, agent(act), run_id="run_7", trace_id="trace_7", user_id="ana")

    assert [ctx.idempotency_key for ctx in seen] == ["run_7/1/0", "run_7/1/1", "run_7/2/0"]
    assert [ctx.call_id for ctx in seen] == ["call_1", "call_2", "call_3"]
    assert {(ctx.run_id, ctx.trace_id, ctx.user_id, ctx.agent) for ctx in seen} == {
        ("run_7", "trace_7", "ana", ("worker",))
    }
    assert "ana" not in str([(request.system, request.messages) for request in client.requests])
    assert "ctx" not in str(client.requests[0].tools[0].parameters)


@pytest.mark.requirement("003-NFR3-TRACE")
async def test_the_result_says_which_run_trace_agent_and_model_it_was() -> None:
    named = agent(model=ModelConfig(model="scripted:"))
    given = await run(["ok"], named, run_id="run_7", trace_id="trace_7")
    made = await run(["ok"], agent())
    other = await run(["ok"], agent())

    assert given.metadata == {
        "run_id": "run_7",
        "trace_id": "trace_7",
        "agent": ("worker",),
        "model": "scripted",
    }
    assert re.fullmatch(r"run_[0-9a-f]{16}", made.metadata["run_id"])
    assert re.fullmatch(r"[0-9a-f]{32}", made.metadata["trace_id"])
    assert made.metadata["run_id"] != other.metadata["run_id"]


@pytest.mark.requirement("002-R7", "002-AC8", "003-NFR3-METRICS", "000-FR-014")
async def test_tokens_are_added_up_in_the_run_and_over_all_runs_of_an_executor() -> None:
    client = ScriptedClient(
        [
            calls(call("get_weather", city="Brest"), usage=Usage(100, 10, cost_usd=0.25)),
            reply("ok", usage=Usage(150, 20, 30, 40, cost_usd=0.5)),
            reply("again", usage=Usage(5, 1)),
        ]
    )
    executor = AgentExecutor(client)

    first = await executor.execute(agent(get_weather))
    second = await executor.execute(agent())

    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.total_cost_usd) == (
        250,
        30,
        0.75,
    )
    assert (first.usage.cache_read_tokens, first.usage.cache_write_tokens) == (30, 40)
    assert first.usage.duration_ms >= 0
    assert second.usage.total_cost_usd is None
    assert executor.metrics == ExecutionMetrics(total_input_tokens=255, total_output_tokens=31, invocations=3)


@pytest.mark.requirement("P3", "003-API-RESULT")
async def test_the_result_lists_every_tool_call_with_its_outcome() -> None:
    result = await run([calls(call("get_weather", city="Brest"), call("fly")), "ok"], agent(get_weather))

    assert [
        (record.call_id, record.tool_name, record.arguments, record.outcome, record.turn)
        for record in result.tool_calls
    ] == [
        ("call_1", "get_weather", {"city": "Brest"}, ToolOutcome.FINISHED, 1),
        ("call_2", "fly", {}, ToolOutcome.DENIED, 1),
    ]
    assert result.tool_calls[0].result == "sunny in Brest"


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(
    "ids", [["", ""], ["x", "x"], ["", "x"], ["x", "x", "x_1"], ["call_1_1", "", ""]], ids=str
)
async def test_calls_without_an_id_of_their_own_are_given_one(ids: list[str]) -> None:
    asked = Response("", [ToolCall(id_, "get_weather", {"city": str(n)}) for n, id_ in enumerate(ids)])

    result = await run([asked, "ok"], agent(get_weather))

    assert_valid(result.messages)
    assert results_in(result.messages) == [f"sunny in {n}" for n in range(len(ids))]


@pytest.mark.requirement("P3")
async def test_an_id_that_an_earlier_turn_used_is_replaced() -> None:
    again = ToolCall("call_0", "get_weather", {"city": "Brest"})

    result = await run([Response("", [again]), Response("", [again]), "ok"], agent(get_weather))

    assert_valid(result.messages)
    assert [message.role for message in result.messages].count(Role.TOOL_RESULT) == 2


async def test_an_executor_without_a_client_connects_to_what_the_definition_names() -> None:
    async with AgentExecutor() as executor:
        result = await executor.execute(agent(model=ModelConfig(model="offline:"), ask="Hello!"))

    assert result.success
    assert result.output


async def test_a_definition_that_is_run_twice_starts_afresh() -> None:
    definition = agent(get_weather)
    client = ScriptedClient([call("get_weather", city="Brest"), "first", "second"])

    first = await run(client, definition)
    second = await run(client, definition)

    assert (first.output, second.output) == ("first", "second")
    assert list(second.messages) == [Message.user("Do it."), Message.assistant("second")]


def test_a_definition_holds_its_tools_whatever_their_make() -> None:
    assert [str(getattr(made, "name", made)) for made in ToolConfig([get_weather, Clock(), "x"]).tools] == [
        "get_weather",
        "clock",
        "x",
    ]
