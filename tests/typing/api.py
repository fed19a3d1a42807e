"""One example of each public call, as a user writes it: checked by mypy and by pyright in strict mode; only its imports run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_type

from pydantic import BaseModel

from maverick import (
    AbortSignal,
    AgentActivityEvent,
    AgentDefinition,
    AgentExecutor,
    AgentResult,
    ContentChunk,
    Document,
    Fleet,
    Fork,
    Image,
    Message,
    ModelConfig,
    Outcome,
    OutputConfig,
    PostgresJournal,
    PromptConfig,
    Role,
    RunConfig,
    RunEnd,
    SqliteJournal,
    ToolCallEnd,
    ToolCallStart,
    ToolConfig,
    ToolContext,
    TurnEnd,
    connect,
    dump_messages,
    load_messages,
    messages_from_anthropic,
    messages_from_openai,
    run_sync,
    tool,
)
from maverick.agents import AgentContext, MaverickAgent, registry
from maverick.agents import AgentResult as ClassResult
from maverick.chat import AgentContext as ChatContext
from maverick.chat import AgentResult as ChatResult
from maverick.chat import AgentRunner, MCPToolServer, get_session
from maverick.exceptions import AgentError, ErrorKind
from maverick.model import ExecutionMetrics, Request, RequestConfig, Response, StopReason
from maverick.server import create_app
from maverick.testing import ScriptedClient, call, forbid_network, reply


@tool
async def get_weather(city: str) -> str:
    """Today's weather in a city."""
    return f"{city}: sunny, 21 °C"


class Report(BaseModel):
    summary: str
    cities: list[str]


reporter = AgentDefinition(
    name="reporter",
    description="Writes a weather report.",
    prompt_config=PromptConfig(
        system_prompt="You write for ${audience}.", initial_messages=["Report on ${cities}."]
    ),
    model_config=ModelConfig(model="claude:claude-sonnet-5-5", max_tokens=2000, effort="high", cache="1h"),
    run_config=RunConfig(max_turns=10, timeout_ms=60_000, max_tool_calls=20, max_cost_usd=0.50),
    tool_config=ToolConfig(tools=[get_weather]),
    output_config=OutputConfig(output_name="report", schema=Report),
)
boss = AgentDefinition(
    name="boss",
    description="Asks for reports.",
    tool_config=ToolConfig(tools=[get_weather, reporter.as_tool()]),
    run_config=RunConfig(timeout=60),
)
inputs = {"audience": "sailors", "cities": "Brest"}


async def run_it() -> None:
    async with connect("claude:claude-sonnet-5-5", api_key="…", base_url="…", thinking="adaptive") as client:
        executor = AgentExecutor(client)
        result = await executor.execute(reporter, inputs=inputs, on_activity=print)
        response: Response = await client.run(
            Request(
                messages=[Message.user("hi")],
                tools=[get_weather],
                config=RequestConfig(max_tokens=100, temperature=-1),
            )
        )
    assert_type(result, AgentResult[Report])
    assert_type(result.output, Report | None)
    assert_type(result.unwrap(), Report)
    assert_type(result.new_messages, Sequence[Message])
    assert_type(result.usage.total_cost_usd, float | None)
    assert_type(result.metadata["model"], str)
    assert_type(executor.metrics, ExecutionMetrics)
    assert_type(response.stop_reason is StopReason.COMPLETE, bool)
    kept: bytes = dump_messages(result.messages)
    history = load_messages(kept)
    history = messages_from_anthropic([{"role": "user", "content": "hi"}])
    history = messages_from_openai([{"role": "user", "content": "hi"}])
    assert_type(run_sync(boss, inputs={"prompt": "Go."}, messages=history), AgentResult[str])
    await executor.execute(
        boss,
        inputs={"prompt": ["What is it?", Image.from_path("a.jpg"), Document.from_path("a.pdf")]},
    )


async def watch_it(executor: AgentExecutor) -> Report | None:
    signal = AbortSignal()
    async for event in executor.stream(reporter, inputs=inputs, signal=signal):
        match event:
            case ContentChunk(content=text):
                print(text, end="")
            case ToolCallStart(tool_call=asked):
                print(asked.tool_name, asked.arguments)
            case ToolCallEnd(tool_call_id=asked_id, result=returned):
                print(asked_id, returned)
            case TurnEnd(turn_number=number) if number > 3:
                signal.abort("enough")
            case RunEnd(result=result):
                assert_type(result, AgentResult[Report])
                return result.output
            case _:
                show(event)
    return None


def show(event: AgentActivityEvent) -> None:
    print(event.type, event.run_id, event.trace_id, event.at, event.agent)


@dataclass
class Deps:
    tenant: str


@tool(effect="pure")
async def find(query: str, ctx: ToolContext[Deps]) -> list[str]:
    """Search."""
    return [query, ctx.deps.tenant]


@tool(effect="irreversible", approval=True, timeout=30)
async def send_mail(to: str, body: str, ctx: ToolContext) -> str:
    """Send a letter."""
    return f"sent {body} to {to} as {ctx.idempotency_key}, {ctx.run_id}, {ctx.user_id}, {ctx.deadline}"


@send_mail.reconcile
async def was_sent(args: dict[str, Any], ctx: ToolContext) -> Outcome:
    return Outcome.done("sent") if ctx.idempotency_key in args else Outcome.not_done()


async def keep_it() -> None:
    journal = SqliteJournal("runs.db")
    executor = AgentExecutor(journal=journal, may_approve=lambda approval, by: by == approval.user_id)
    await executor.execute(reporter, inputs=inputs, run_id="r", if_exists="resume", deps=Deps("acme"))
    assert_type(await executor.resume("r", reporter), AgentResult[Report])
    assert_type(await executor.fork("r", reporter, turn=3, edit="Only Brest."), AgentResult[Report])
    async for event in executor.replay("r", reporter):
        show(event)
    async for event in executor.stream(reporter, fork=Fork("r", turn=3, edit="Only Brest.")):
        assert_type(event, AgentActivityEvent[Report])
    async for event in executor.stream(reporter, resume="r"):
        show(event)
    await executor.say("r", "Leave out Brest.")
    for approval in await journal.list_approvals(user_id="ana", run_id="r"):
        assert_type(approval.arguments, dict[str, Any])
        await executor.approve(approval.approval_id, by="boss", resume=True, definition=reporter)
        await executor.approve(approval.approval_id, by="boss", arguments={"to": "Ana"})
        await executor.deny(approval.approval_id, by="boss", reason="No.", resume=True)
        await journal.approve(approval.approval_id, by="ana")


@registry.register("greeter")
class Greeter(MaverickAgent):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(name="greeter", system_prompt="You greet people.", allowed_tools=["Read"], **kwargs)

    async def execute(self, context: AgentContext) -> ClassResult:
        return await self.run_prompt(f"Greet the people on {context.branch}.", context)


async def enter_it() -> None:
    await registry.create("greeter").execute(AgentContext.from_cwd(Path()))
    runner = AgentRunner(get_session, MCPToolServer(get_session))
    context = ChatContext.from_request(user_id="u1", conversation_id="c1", messages=[])
    answer: ChatResult = await runner.run(context, "Add task buy milk")
    print(answer.response)


async def serve_it() -> None:
    print(create_app(agents=[reporter, boss], journal=PostgresJournal("postgresql://…")))
    fleet = await Fleet.connect(temporal="localhost:7233", journal=PostgresJournal("postgresql://…"))
    run = await fleet.start("reporter", inputs={"audience": "sailors"}, user_id="ana")
    async for event in run.events():
        show(event)
    await run.say("Hurry.")
    await run.abort()
    assert_type(await run.result(reporter), AgentResult[Report])


async def test_it() -> None:
    client = ScriptedClient([call("get_weather", city="Brest"), reply("Sunny in Brest.")])
    counting = ScriptedClient(lambda request: reply(f"{len(request.messages)} messages so far"))
    failed = await AgentExecutor(counting).execute(reporter, inputs=inputs)
    assert_type(failed.errors, list[AgentError])
    assert failed.errors[0].kind is ErrorKind.INVALID
    assert client.requests[1].messages[-1].role is Role.TOOL_RESULT
    forbid_network()
