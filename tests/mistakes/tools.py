"""Mistakes in tools."""

# mypy: disable-error-code="no-untyped-def,call-overload,arg-type,list-item,empty-body,name-defined,misc,call-arg,type-arg"
# These are mistakes.

from __future__ import annotations

from typing import Any

from maverick import AgentExecutor, ToolConfig, ToolContext, ToolRegistry, tool
from maverick.testing import ScriptedClient, call, reply
from mistakes.catalog import mistake
from mistakes.definitions import define, get_weather


class Database:
    """Something only the program has."""


async def result_of(made: Any, **options: Any) -> str:
    """What the model reads when it has called the tool."""
    client = ScriptedClient([call(made.name), reply("Done.")])
    agent = define(tool_config=ToolConfig(tools=[made]))
    result = await AgentExecutor(client).execute(agent, inputs={"prompt": "Go."}, **options)
    return result.tool_calls[0].result


@mistake("'find' cannot be a tool", "no docstring", "@tool(description=…)")
def no_docstring() -> None:
    @tool
    def find(query: str) -> str:
        return query


@mistake("'find' cannot be a tool", "'query' has no type", "query: str")
def a_parameter_without_a_type() -> None:
    @tool
    def find(query) -> str:  # noqa: ANN001 - a mistake
        """Find something."""
        return str(query)


@mistake("cannot take *queries", "by name", "Write out its parameters")
def any_number_of_arguments() -> None:
    @tool
    def find(*queries: str) -> str:
        """Find something."""
        return str(queries)


@mistake("'database' is of the type Database", "ToolContext (ctx.deps)")
def a_parameter_that_no_model_can_write() -> None:
    @tool
    def find(query: str, database: Database) -> str:
        """Find something."""
        return f"{query} {database}"


@mistake("'Querry' is not defined", "Import what it names")
def a_type_that_does_not_exist() -> None:
    @tool
    def find(query: Querry) -> str:  # noqa: F821 - a mistake
        """Find something."""
        return str(query)


@mistake("tool()", "'timeot'", "Did you mean 'timeout'?")
def a_mistyped_option() -> None:
    tool(timeot=3)(get_weather.function)


@mistake("timeout='30s'", "a number of seconds above 0")
def a_timeout_with_a_unit() -> None:
    tool(timeout="30s")(get_weather.function)


@mistake("'timeout_ms'", "timeout=…, in seconds")
def a_timeout_in_milliseconds() -> None:
    tool(timeout_ms=3000)(get_weather.function)


@mistake("effect 'idempotent'", "pure, keyed, transactional, irreversible")
def an_effect_that_does_not_exist() -> None:
    tool(effect="idempotent")(get_weather.function)


@mistake("@tool('weather') names no function", "@tool(name='weather')")
def a_name_by_position() -> None:
    tool("weather")


@mistake("'get weather!'", "letters, digits, '_' or '-'")
def a_name_that_no_provider_takes() -> None:
    ToolConfig(tools=[tool(name="get weather!")(get_weather.function)])


@mistake("plain_function is a plain function", "decorate it with @tool")
def a_function_without_the_decorator() -> None:
    def plain_function(query: str) -> str:
        """Find something."""
        return query

    ToolConfig(tools=[plain_function])


@mistake("get_weather(…) is a call", "without parentheses")
def a_call_in_place_of_the_tool() -> None:
    ToolConfig(tools=[get_weather("Brest")])


@mistake("expected a list of tools", "[get_weather]")
def a_tool_in_place_of_a_list() -> None:
    ToolConfig(tools=get_weather)


@mistake("Clock is a class", "make an instance")
def a_class_in_place_of_an_instance() -> None:
    ToolConfig(tools=[Clock])


@mistake("two tools are named 'get_weather'", "another name")
def a_tool_twice() -> None:
    ToolConfig(tools=[get_weather, get_weather])


@mistake("'reporter' as a tool", "reporter.as_tool()")
def an_agent_in_place_of_a_tool() -> None:
    ToolConfig(tools=[define()])


@mistake("as_tool is a method", "write as_tool()")
def an_agent_that_is_not_made_a_tool() -> None:
    ToolConfig(tools=[define().as_tool])


@mistake("a list of tools", "[get_weather]", "got the function report")
def a_function_in_place_of_a_list() -> None:
    def report() -> str:
        return ""

    ToolConfig(tools=report)


@mistake("'find' is a method", "shop.find with shop = Shop(…)")
def a_method_of_the_class() -> None:
    class Shop:
        @tool
        async def find(self, item: str) -> str:
            """Find an item."""
            return item

    ToolConfig(tools=[Shop.find])


@mistake("no tool named 'get_wether'", "Did you mean 'get_weather'?")
async def a_mistyped_tool() -> None:
    agent = define(tool_config=ToolConfig(tools=["get_wether"]))
    await AgentExecutor(ScriptedClient([reply("Hi!")]), ToolRegistry([get_weather])).execute(
        agent, inputs={"prompt": "Go."}
    )


class Clock:
    name = "clock"
    description = "Tells the time."
    parameters = {"type": "object", "properties": {}}  # noqa: RUF012 - as a user writes it

    def execute(self, args: dict[str, Any]) -> str:
        return "It is noon."


@mistake("execute() of the tool 'clock' is not async", "async def execute")
async def a_tool_that_is_not_async() -> str:
    return await result_of(Clock())


@mistake("bytes that are not text", "Image.from_bytes(…)")
async def bytes_from_a_tool() -> str:
    @tool
    async def shoot() -> bytes:
        """Take a photo."""
        return b"\x89PNG\xff"

    return await result_of(shoot)


@mistake("of the type Database", "Return a string or JSON values")
async def an_object_from_a_tool() -> str:
    @tool
    async def connect_database() -> Any:
        """Connect."""
        return Database()

    return await result_of(connect_database)


@mistake("a coroutine that was not awaited", "return await")
async def a_forgotten_await_in_a_tool() -> str:
    @tool
    async def report() -> Any:
        """Report."""
        return get_weather("Brest")

    return await result_of(report)


@mistake("has no deps", "if the tool uses them, give them with execute(…, deps=…)")
async def forgotten_deps() -> str:
    @tool
    async def report(context: ToolContext[Any]) -> str:
        """Report."""
        return str(context.deps.database)

    return (await result_of(report)).replace("NoneType", "None")


@mistake("has no deps", "if the tool uses them, give them with execute(…, deps=…)")
async def forgotten_deps_that_are_a_dictionary() -> str:
    @tool
    def report(context: ToolContext[Any]) -> str:
        """Report."""
        return str(context.deps["database"])

    return (await result_of(report)).replace("NoneType", "None")
