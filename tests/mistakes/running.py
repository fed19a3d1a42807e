"""Mistakes in running agents, and in what is given to a run."""

# mypy: disable-error-code="call-arg,arg-type,misc,call-overload,return-value"
# These are mistakes.

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

from maverick import (
    AgentExecutor,
    Fleet,
    Image,
    InputConfig,
    PostgresJournal,
    PromptConfig,
    RunConfig,
    SqliteJournal,
    ToolConfig,
    connect,
    define_agent,
    dump_messages,
    load_messages,
    messages_from_anthropic,
    run_sync,
    tool,
)
from maverick.agents import AgentRegistry
from maverick.testing import ScriptedClient, call, reply
from mistakes.catalog import mistake
from mistakes.definitions import Report, define, get_weather


async def run(agent: Any = None, *, client: Any = None, **options: Any) -> Any:
    executor = AgentExecutor(client or ScriptedClient([reply("Hi!")]))
    return await executor.execute(agent or define(), **{"inputs": {"prompt": "Hi!"}, **options})


@mistake("messages: expected a list of Message", "result.messages", "got AgentResult")
async def a_result_as_messages() -> None:
    dump_messages(await run())


@mistake("messages: expected a list of Message", "got int")
async def a_number_as_messages() -> None:
    await run(messages=1)


@mistake("request: expected a Request, got str", "Request([Message.user(")
async def a_text_as_a_request() -> None:
    await connect("offline:").run("hi")


@mistake("inputs: expected a dictionary", "inputs={'prompt': 'hello'}")
async def a_text_as_inputs() -> None:
    await run(inputs="hello")


@mistake("prompt missing", "Pass inputs={'prompt': …}")
async def no_inputs() -> None:
    await run(inputs=None)


@mistake("no input named 'ciy'", "Did you mean 'city'?")
async def a_mistyped_input() -> None:
    await run(define(prompt_config=PromptConfig(initial_messages=["${city}?"])), inputs={"ciy": "Brest"})


@mistake("inputs.days: expected a valid integer", "got 'many'")
async def an_input_of_another_type() -> None:
    agent = define(
        prompt_config=PromptConfig(initial_messages=["${days} days."]),
        input_config=InputConfig({"days": int}),
    )
    await run(agent, inputs={"days": "many"})


@mistake("no argument named 'prompt'", "inputs={'prompt': …}")
async def a_prompt_as_an_argument() -> None:
    await run(prompt="Hi!")


@mistake("Only definition", "inputs=…")
async def inputs_by_position() -> None:
    await AgentExecutor(ScriptedClient([])).execute(define(), {"prompt": "Hi!"})


@mistake("got bytes", "Image.from_path or .from_bytes")
async def a_file_as_bytes() -> None:
    await run(inputs={"prompt": ["What is it?", b"..."]})


@mistake("shelf.png cannot be read", "Check the path")
def a_file_that_is_not_there() -> None:
    Image.from_path("shelf.png")


@mistake("shelf.png is not a PNG, JPEG, GIF or WebP image")
def a_text_as_an_image(folder: Path) -> None:
    folder.joinpath("shelf.png").write_text("a shelf", "utf-8")
    Image.from_path("shelf.png")


@mistake("Image.from_url", "Image.from_path")
def a_path_as_an_address() -> None:
    Image.from_url("shelf.png")


@mistake("client: expected what connect(…) returns", "connect('claude:claude-sonnet-5-5')")
def a_model_as_a_client() -> None:
    AgentExecutor("claude:claude-sonnet-5-5")


@mistake("client: expected", "got the class ScriptedClient")
def a_class_as_a_client() -> None:
    AgentExecutor(ScriptedClient)


@mistake("tool_registry: expected a ToolRegistry", "ToolConfig(tools=[…])")
def a_list_as_a_registry() -> None:
    AgentExecutor(ScriptedClient([]), [get_weather])


@mistake("given to execute()", "AgentExecutor().execute(agent)")
def an_agent_as_a_client() -> None:
    AgentExecutor(define())


@mistake("expected an AgentDefinition, got 'reporter'", "Give the definition itself")
async def an_agent_by_name() -> None:
    await AgentExecutor(ScriptedClient([])).execute("reporter")


@mistake("where an event loop runs", "await executor.execute(…)")
async def run_sync_in_async_code() -> None:
    run_sync(define(), inputs={"prompt": "Hi!"})


@mistake("on_activity: expected a plain function", "use stream()")
async def an_async_listener() -> None:
    async def listen(event: object) -> None: ...

    await run(on_activity=listen)


@mistake("signal: expected an AbortSignal", "AbortSignal()")
async def a_text_as_a_signal() -> None:
    await run(signal="stop")


@mistake("got one turn", "ScriptedClient([…])")
def a_script_of_one_turn() -> None:
    ScriptedClient(call("get_weather", city="Brest"))


@mistake("has the role 'system'", "PromptConfig(system_prompt=…)")
def instructions_among_messages() -> None:
    messages_from_anthropic([{"role": "system", "content": "Be brief."}])


@mistake("not a valid output: summary: Field required", "max_repairs", "raw_content")
async def an_answer_that_never_fits() -> None:
    agent = define_agent("reporter", output=Report)
    client = ScriptedClient(lambda _: reply("{}"))
    (await AgentExecutor(client).execute(agent, inputs={"prompt": "Hi!"})).unwrap()


@mistake("messages[0] is a dict", "messages_from_anthropic(…)", "messages_from_openai(…)")
async def a_conversation_of_dictionaries() -> None:
    await run(messages=[{"role": "user", "content": "Hi!"}])


@mistake("what dump_messages() has written", "messages_from_anthropic(…)")
def messages_that_are_something_else() -> None:
    load_messages(b"Hi!")


@mistake("messages[0] is a str", "Message")
def a_text_as_messages() -> None:
    dump_messages("Hi!")


@mistake("messages[0] cannot be read", "its content is a int")
def messages_that_no_api_has() -> None:
    messages_from_anthropic([{"role": "user", "content": 1}])


@mistake("after its 0.03 s", "For 30 seconds, write timeout=30")
async def a_timeout_in_seconds() -> str:
    async def wait(request: object) -> str:
        await asyncio.sleep(60)
        return "Too late."

    agent = define(run_config=RunConfig(timeout_ms=30))
    return str((await run(agent, client=ScriptedClient(wait))).error)


@mistake("'pay' needs a person's approval", "approve=…, or a journal")
async def nobody_to_approve() -> str:
    @tool(approval=True)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"{amount} paid"

    client = ScriptedClient([call("pay", amount=3), reply("Paid.")])
    return str((await run(define(tool_config=ToolConfig(tools=[pay])), client=client)).error)


@mistake("script: expected a list of turns", "ScriptedClient([reply('Hi!')])")
def a_text_as_a_script() -> None:
    ScriptedClient("Hi!")


@mistake("The script has 1 turns", "Add the missing turn")
async def a_script_that_is_too_short() -> str:
    client = ScriptedClient([call("get_weather", city="Brest")])
    return str((await run(define(tool_config=ToolConfig(tools=[get_weather])), client=client)).error)


@mistake("run_sync()", "no argument named 'prompt'", "inputs={'prompt': …}")
def a_prompt_in_a_script() -> None:
    run_sync(define(), prompt="Hi!")


@mistake("define_agent()", "'tool'", "Did you mean 'tools'?")
def a_mistyped_argument_of_the_short_form() -> None:
    define_agent("reporter", "Be brief.", tool=[get_weather])


@mistake("call()", "Only tool_name", "name=…")
def arguments_of_a_call_by_position() -> None:
    call("get_weather", "Brest")


@mistake("hooks: expected a list of hooks", "[MyHooks()]")
def a_function_as_hooks() -> None:
    AgentExecutor(ScriptedClient([]), hooks=print)


@mistake("agents: expected a list", "agents=[reporter]")
def one_agent_to_serve() -> None:
    from maverick.server import create_app

    create_app(agents=define(), journal=SqliteJournal("runs.db"))


@mistake("'reporter' is already registered", "another name")
def two_agents_of_one_name() -> None:
    registry = AgentRegistry()
    registry.register(define())
    registry.register(define())


@mistake("Temporal cannot be reached at 127.0.0.1:1", "Check the address")
async def a_fleet_that_does_not_run() -> None:
    await Fleet.connect(temporal="127.0.0.1:1", journal=PostgresJournal("postgresql://ana@127.0.0.1:1/runs"))


@mistake("approve= returned a str for the tool 'pay'", "Return True, False, request.approve(…)", log=True)
async def an_approver_that_says_yes() -> None:
    @tool(approval=True)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"{amount} paid"

    client = ScriptedClient([call("pay", amount=3), reply("Paid.")])
    executor = AgentExecutor(client, approve=lambda _: "yes")
    await executor.execute(define(tool_config=ToolConfig(tools=[pay])), inputs={"prompt": "Pay."})


@mistake("'nap' has blocked the event loop", "Write it without async", log=True)
async def a_blocking_call_in_an_async_tool() -> None:
    noticed = threading.Event()
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: noticed.set()  # type: ignore[method-assign]

    @tool
    async def nap() -> str:
        """Take a nap."""
        noticed.wait(60)  # as long as it takes to be noticed
        return "Refreshed."

    client = ScriptedClient([call("nap"), reply("Good morning.")])
    logging.getLogger("maverick").addHandler(handler)
    try:
        await run(define(tool_config=ToolConfig(tools=[nap])), client=client)
    finally:
        logging.getLogger("maverick").removeHandler(handler)
