"""The public interface, written the way its users will write it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from maverick import (
    AbortSignal,
    AgentDefinition,
    AgentError,
    AgentExecutor,
    AgentResult,
    ContentChunk,
    ErrorKind,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunConfig,
    RunEnd,
    TerminateReason,
    ToolCallEnd,
    ToolCallStart,
    ToolConfig,
    ToolRegistry,
    TurnEnd,
    connect,
    run_sync,
    tool,
)
from maverick.exceptions import NetworkError
from maverick.model import ExecutionMetrics, Message, Request, RequestConfig, Role, StopReason
from maverick.testing import ScriptedClient, call, calls, forbid_network, reply


@tool
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return "sunny, 21 °C"


class Report(BaseModel):
    summary: str
    cities: list[str]


reporter = AgentDefinition(
    name="reporter",
    description="Writes a weather report.",
    prompt_config=PromptConfig(
        system_prompt="You write for ${audience}.", initial_messages=["Report on ${cities}."]
    ),
    model_config=ModelConfig(model="claude:claude-sonnet-4-5-20250929", max_tokens=2000),
    run_config=RunConfig(max_turns=10, timeout_ms=60_000, max_tool_calls=20, max_total_tokens=100_000),
    tool_config=ToolConfig(tools=[get_weather]),
    output_config=OutputConfig(output_name="report", schema=Report),
)
INPUTS = {"audience": "sailors", "cities": "Brest"}
ANSWER = '{"summary": "Sunny in Brest.", "cities": ["Brest"]}'


@pytest.mark.requirement("F-API", "003-API-EXECUTOR", "003-API-RESULT")
async def test_one_tool_one_definition_one_run() -> None:
    seen: list[Any] = []
    client = ScriptedClient([call("get_weather", city="Brest"), reply(ANSWER)])

    executor = AgentExecutor(client, ToolRegistry())
    result: AgentResult[Report] = await executor.execute(reporter, inputs=INPUTS, on_activity=seen.append)

    assert result.output is not None
    assert (result.success, result.output.cities) == (True, ["Brest"])
    assert result.terminate_reason is TerminateReason.COMPLETE
    assert (result.turn_count, result.error, list(result.errors)) == (2, None, [])
    assert result.usage.total_cost_usd == 0
    assert result.usage.duration_ms >= 0
    assert (result.raw_content, result.validated) == (ANSWER, True)
    assert [record.tool_name for record in result.tool_calls] == ["get_weather"]
    assert len(result.messages) == 4
    assert seen[-1].result is result
    assert isinstance(executor.metrics, ExecutionMetrics)


@pytest.mark.requirement("F-API")
async def test_a_client_is_connected_to_by_name_and_closed_with_its_block() -> None:
    async with connect("offline:") as client:
        greeter = AgentDefinition("greeter", "Greets.")
        result = await AgentExecutor(client).execute(greeter, inputs={"prompt": "Hello!"})

    assert result.success


@pytest.mark.requirement("F-API", "F-SYNC")
def test_the_same_for_a_script() -> None:
    result = run_sync(reporter, client=ScriptedClient([reply(ANSWER)]), inputs=INPUTS)

    assert result.output == Report(summary="Sunny in Brest.", cities=["Brest"])


@pytest.mark.requirement("F-API", "F-STREAM", "003-FR2-AC3")
async def test_watching_and_stopping() -> None:
    client = ScriptedClient(lambda _: calls(call("get_weather", city="Brest"), text="Again. "))
    signal = AbortSignal()
    said, asked, answered, ended = [], [], [], []

    async for event in AgentExecutor(client).stream(reporter, inputs=INPUTS, signal=signal):
        match event:
            case ContentChunk(content=text):
                said.append(text)
            case ToolCallStart(tool_call=wanted):
                asked.append((wanted.tool_name, wanted.arguments))
            case ToolCallEnd(tool_call_id=call_id, result=answer):
                answered.append((call_id, answer))
            case TurnEnd(turn_number=number) if number > 3:
                signal.abort("enough")
            case RunEnd(result=result):
                ended.append(result)

    assert said[0] == "Again. "
    assert asked[0] == ("get_weather", {"city": "Brest"})
    assert len(answered) == len(asked) >= 4
    (result,) = ended
    assert result.terminate_reason is TerminateReason.ABORTED


@pytest.mark.requirement("F-API", "002-R1", "002-R1-CONFIG", "002-R3")
async def test_one_turn_without_a_loop() -> None:
    client = ScriptedClient([reply("Hello.")])

    response = await client.run(
        Request(
            messages=[Message.user("hi")],
            tools=[get_weather],
            config=RequestConfig(max_tokens=100, temperature=-1),
        )
    )

    assert response.content == "Hello."
    assert response.tool_calls == ()
    assert response.usage.input_tokens > 0
    assert response.stop_reason is StopReason.COMPLETE


@pytest.mark.requirement("F-API", "003-G5")
async def test_a_subagent() -> None:
    editor = AgentDefinition(
        name="editor",
        description="Edits reports.",
        tool_config=ToolConfig(tools=[get_weather, reporter.as_tool()]),
    )
    client = ScriptedClient([call("reporter", **INPUTS), reply(ANSWER), reply("Printed.")])

    result = await AgentExecutor(client).execute(editor, inputs={"prompt": "Make a page."})

    assert result.output == "Printed."
    assert "Sunny in Brest." in result.tool_calls[0].result


@pytest.mark.requirement("F-API")
async def test_testing_an_agent_without_a_model() -> None:
    client = ScriptedClient([call("get_weather", city="Brest"), reply(ANSWER)])
    counting = ScriptedClient(lambda request: reply(f"{len(request.messages)} messages so far"))

    await AgentExecutor(client).execute(reporter, inputs=INPUTS)
    counted = await AgentExecutor(counting).execute(AgentDefinition("a", "b"), inputs={"prompt": "x"})

    assert client.requests[1].messages[-1].role is Role.TOOL_RESULT
    assert counted.output == "1 messages so far"


@pytest.mark.requirement("F-API", "P8")
async def test_no_agent_goes_live_where_the_network_is_forbidden() -> None:
    live = connect("claude:claude-sonnet-4-5-20250929", api_key="made-up")

    with forbid_network():
        result = await AgentExecutor(live).execute(reporter, inputs=INPUTS)

    (error,) = result.errors
    assert isinstance(error, NetworkError)
    assert "forbid_network()" in str(error)
    await live.aclose()


@pytest.mark.requirement("F-API", "002-R8")
async def test_errors_have_a_kind_and_say_what_to_do() -> None:
    with pytest.raises(AgentError) as caught:
        await AgentExecutor(ScriptedClient([])).execute(reporter, inputs={"audience": "sailors"})

    assert caught.value.kind is ErrorKind.INVALID
    assert "Pass inputs={'cities': …}" in str(caught.value)
