"""Mistakes with models, keys and addresses; the services are servers on this machine."""

# mypy: disable-error-code="call-arg,arg-type"
# These are mistakes.

from __future__ import annotations

from typing import Any

from maverick import AgentExecutor, Image, ModelConfig, RunConfig, connect
from maverick.model import ModelInfo
from maverick.testing import ScriptedClient
from media_files import png
from mistakes.catalog import mistake
from mistakes.definitions import define
from wire.claude_server import ClaudeServer

CLAUDE = "claude:claude-sonnet-5-5"
KEY = "sk-ant-key"


async def ask(client: Any, prompt: Any = "Hi!", **parts: Any) -> str:
    """Why there is no answer."""
    agent = define(**{"run_config": RunConfig(max_retries=0), **parts})
    async with client:
        return str((await AgentExecutor(client).execute(agent, inputs={"prompt": prompt})).error)


@mistake("no provider named 'cluade'", "Did you mean 'claude'?")
def a_mistyped_provider() -> None:
    connect("cluade:claude-sonnet-5-5")


@mistake("no provider named 'anthropic'", "write 'claude:…'")
def connecting_to_a_company() -> None:
    connect("anthropic:claude-sonnet-5-5")


@mistake("does not say which provider", "'claude:claude-sonnet-5-5'")
def connecting_to_a_bare_model() -> None:
    connect("claude-sonnet-5-5")


@mistake("'apikey'", "Did you mean 'api_key'?")
def a_mistyped_setting_of_a_client() -> None:
    connect(CLAUDE, apikey=KEY)


@mistake("no key", "ANTHROPIC_API_KEY")
async def no_key() -> str:
    return await ask(connect(CLAUDE))


@mistake("a key for OpenAI", "ANTHROPIC_API_KEY")
def a_key_of_another_company() -> None:
    connect(CLAUDE, api_key="sk-proj-abcdefgh")


@mistake("did not accept the key", "Check the key")
async def a_wrong_key() -> str:
    async with ClaudeServer() as server:
        return await ask(connect(CLAUDE, api_key=KEY, base_url=server.at("wrong_key")))


@mistake("does not know the model 'claude-sonet-5-5'", "Did you mean 'claude-sonnet-5-5'?")
async def a_mistyped_model() -> str:
    async with ClaudeServer() as server:
        return await ask(connect("claude:claude-sonet-5-5", api_key=KEY, base_url=server.at("no_such_model")))


@mistake("'claude-sonet-5-5' is not known", "Did you mean 'claude-sonnet-5-5'?", log=True)
def connecting_to_a_mistyped_model() -> None:
    connect("claude:claude-sonet-5-5", api_key=KEY)


@mistake("base_url", "http:// or https://", "'localhost:8000'")
def an_address_without_a_scheme() -> None:
    connect("openai:my-model", api_key="key", base_url="localhost:8000")


@mistake("127.0.0.1", "Check that base_url is right and that the server is running")
async def a_server_of_ones_own_that_is_down() -> str:
    return await ask(connect("openai:my-model", api_key="key", base_url="http://127.0.0.1:1/v1"))


@mistake("not at this address", "Check base_url")
async def an_address_of_something_else() -> str:
    async with ClaudeServer() as server:
        return await ask(connect(CLAUDE, api_key=KEY, base_url=f"{server.url}/some/page"))


@mistake("base_url", "text/html")
async def an_address_of_a_web_page() -> str:
    async with ClaudeServer() as server:
        return await ask(connect(CLAUDE, api_key=KEY, base_url=server.at("html")))


@mistake("temperature: claude:claude-opus-5-5 does not take it", "Leave it out")
async def a_temperature_that_a_model_does_not_take() -> str:
    client = connect("claude:claude-opus-5-5", api_key=KEY)
    return await ask(client, model_config=ModelConfig(temperature=0.5))


@mistake("server_tools", "Did you mean 'web_search'?")
async def a_mistyped_server_tool() -> str:
    return await ask(connect(CLAUDE, api_key=KEY), model_config=ModelConfig(server_tools=["websearch"]))


@mistake("price of openai:my-model is not known", "prices={'my-model': Price(…)}")
async def a_budget_without_a_price() -> str:
    client = connect("openai:my-model", api_key="key", base_url="http://127.0.0.1:1/v1")
    return await ask(client, run_config=RunConfig(max_cost_usd=1))


@mistake("reads no images", "choose another model")
async def an_image_for_a_model_that_reads_text() -> str:
    client = ScriptedClient([], info=ModelInfo(media=()))
    return await ask(client, ["What is it?", Image.from_bytes(png())])


@mistake("no cassette at tape.json", "record one with RecordingClient")
def a_cassette_that_is_not_there() -> None:
    connect("cassette:tape.json")
