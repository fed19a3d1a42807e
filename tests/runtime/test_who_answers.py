"""Who answers: a model the definition names; else the client's own; else the one in the settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from maverick import AgentDefinition, AgentExecutor, ModelConfig, ToolConfig, connect
from maverick.config import AgentConfig, Secret
from maverick.exceptions import InvalidInputError, ServerError
from maverick.journal import MemoryJournal
from maverick.model import Message, Request, RequestConfig
from maverick.providers.wrappers.fallback import FallbackClient
from maverick.providers.wrappers.limiter import LimitedClient, RateLimiter
from maverick.testing import RecordingClient, ScriptedClient, call, reply
from wire.claude_server import ClaudeServer
from wire.openai_server import OpenAIServer

HI = {"prompt": "hi"}
NO_SETTINGS = AgentConfig()

pytestmark = pytest.mark.requirement("WHO-ANSWERS")


def agent(model: str | None = None, **config: object) -> AgentDefinition:
    return AgentDefinition(
        name="helper",
        description="Helps.",
        model_config=ModelConfig(model=model, **config),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("named", "sent"), [(None, "claude-opus-5-5"), ("claude:claude-haiku-5-5", "claude-haiku-5-5")]
)
async def test_the_clients_model_answers_unless_the_definition_names_one(
    named: str | None, sent: str
) -> None:
    async with ClaudeServer() as server:
        client = connect(
            "claude:claude-opus-5-5", api_key="k", base_url=server.at("text"), settings=NO_SETTINGS
        )
        async with client:
            result = await AgentExecutor(client).execute(agent(named), inputs=HI)

    assert server.received[0].body["model"] == sent
    assert result.metadata["model"] == sent


@pytest.mark.parametrize(
    ("client", "named"),
    [
        ("claude:claude-opus-5-5", "openai:gpt-6.1-sol"),
        ("openai:gpt-6.1-sol", "claude:claude-opus-5-5"),
        ("openai-chat:gpt-6.1-sol", "openai:gpt-6.1-sol"),
        ("claude-sdk:claude-opus-5-5", "claude:claude-opus-5-5"),
        ("claude-code:opus", "claude:claude-opus-5-5"),
        ("offline:", "claude:claude-opus-5-5"),
        ("claude:claude-opus-5-5", "offline:"),
    ],
)
async def test_a_model_of_another_provider_than_the_clients_is_refused_and_not_replaced(
    client: str, named: str
) -> None:
    events: list[object] = []
    options = {} if client == "offline:" else {"api_key": "k", "base_url": "http://127.0.0.1:9"}
    async with connect(client, settings=NO_SETTINGS, **options) as asked:  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError) as run:
            await AgentExecutor(asked).execute(agent(named), inputs=HI, on_activity=events.append)
        with pytest.raises(InvalidInputError) as turn:
            await asked.run(Request([Message.user("hi")], config=RequestConfig(model=named)))

    assert run.value.field == turn.value.field == "model"
    assert f"a client of {client!r} cannot ask {named!r}" in str(run.value)
    assert events == []


async def test_a_subagents_model_of_another_provider_is_refused_before_its_callers_first_call() -> None:
    async with ClaudeServer() as server:
        client = connect("claude:m", api_key="k", base_url=server.at("text"), settings=NO_SETTINGS)
        worker = replace(agent("openai:gpt-6.1-sol"), name="worker")
        boss = replace(agent(), name="boss", tool_config=ToolConfig(tools=[worker.as_tool()]))
        async with client:
            for _ in range(2):
                with pytest.raises(InvalidInputError, match=r"cannot ask 'openai:gpt-6\.1-sol'"):
                    await AgentExecutor(client).execute(boss, inputs=HI)

    assert server.received == []


async def test_wrappers_pass_the_named_model_on_to_the_client_that_decides() -> None:
    async with ClaudeServer() as server:
        claude = connect("claude:m", api_key="k", base_url=server.at("text"), settings=NO_SETTINGS)
        limited = LimitedClient(claude, RateLimiter(requests_per_minute=60))
        for client in (limited, FallbackClient([limited, claude])):
            with pytest.raises(InvalidInputError, match=r"'claude:m' cannot ask 'openai:gpt-6\.1-sol'"):
                await AgentExecutor(client).execute(agent("openai:gpt-6.1-sol"), inputs=HI)
        double = FallbackClient([ScriptedClient([reply("scripted")]), claude])
        async with claude:
            result = await AgentExecutor(double).execute(agent("claude:m"), inputs=HI)

    assert result.output == "scripted"
    assert server.received == []


async def test_a_fallback_really_changes_models() -> None:
    async with ClaudeServer() as server:
        first, second = (
            connect(f"claude:{model}", api_key="k", base_url=server.at(scenario), settings=NO_SETTINGS)
            for model, scenario in (("claude-opus-5-5", "overloaded"), ("claude-haiku-5-5", "text"))
        )
        async with FallbackClient([first, second]) as client:
            unnamed = await AgentExecutor(client).execute(agent(), inputs=HI)
            named = await AgentExecutor(client).execute(agent("claude:claude-sonnet-5-5"), inputs=HI)

    assert [asked.body["model"] for asked in server.received] == [
        "claude-opus-5-5",
        "claude-haiku-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
    ]
    assert unnamed.metadata["model"] == named.metadata["model"] == "claude-haiku-5-5"


async def test_without_a_client_the_settings_answer_and_what_a_definition_says_wins() -> None:
    async with OpenAIServer() as server:
        settings = AgentConfig(
            provider="openai",
            model="configured",
            api_key=Secret("k"),
            base_url=server.at("text"),
            max_tokens=50,
            temperature=0.5,
        )
        async with AgentExecutor(settings=settings) as executor:
            await executor.execute(agent(), inputs=HI)
            await executor.execute(agent("openai:named", max_tokens=7, temperature=0.1), inputs=HI)

    sent = [
        (asked.body["model"], asked.body["max_tokens"], asked.body["temperature"])
        for asked in server.received
    ]
    assert sent == [("configured", 50, 0.5), ("named", 7, 0.1)]


async def test_options_of_connect_win_over_the_settings_and_requests_over_both() -> None:
    settings = AgentConfig(api_key=Secret("configured"), max_tokens=50, temperature=0.5)
    async with ClaudeServer() as server:
        client = connect(
            "claude:m",
            settings=settings,
            base_url=server.at("text"),
            api_key="given",
            max_tokens=60,
            temperature=0.6,
        )
        async with client:
            await client.run(Request([Message.user("hi")]))

    asked = server.received[0]
    assert (asked.body["max_tokens"], asked.body["temperature"]) == (60, 0.6)
    assert asked.headers["x-api-key"] == "given"


async def test_a_subagent_that_names_no_model_is_answered_by_its_callers() -> None:
    async with ClaudeServer() as server:
        settings = AgentConfig(api_key=Secret("k"), base_url=server.at("text"))
        worker = AgentDefinition(name="worker", description="Works.")
        boss = AgentDefinition(
            name="boss",
            description="Has others work.",
            model_config=ModelConfig(model="offline:"),
            tool_config=ToolConfig(tools=[worker.as_tool()]),
        )
        async with AgentExecutor(settings=settings) as executor:
            result = await executor.execute(boss, inputs={"prompt": "call worker with 'hello'"})

    assert result.success
    assert server.received == []


async def test_a_run_of_an_agent_that_names_no_model_resumes_with_any_client() -> None:
    journal = MemoryJournal()
    begun = AgentExecutor(ScriptedClient([ServerError("down", retryable=False)]), journal=journal)
    await begun.execute(agent(), inputs=HI, run_id="r")
    old = AgentExecutor(ScriptedClient([ServerError("down", retryable=False)]), journal=journal)
    await old.execute(agent("claude:claude-sonnet-4-5-20250929"), inputs=HI, run_id="old")

    results = [
        await AgentExecutor(ScriptedClient([reply("done")]), journal=journal).resume(run_id, agent())
        for run_id in ("r", "old")
    ]

    assert [result.output for result in results] == ["done", "done"]


async def test_a_cassette_of_an_agent_that_had_a_default_model_answers_one_that_names_none(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.json"
    recorded = agent("claude:claude-sonnet-4-5-20250929", max_tokens=50)
    async with RecordingClient(ScriptedClient([reply("from the tape")]), path) as client:
        await AgentExecutor(client).execute(recorded, inputs=HI)

    async with connect(f"cassette:{path}", settings=AgentConfig(max_tokens=9)) as client:
        result = await AgentExecutor(client).execute(agent(), inputs=HI)

    assert result.output == "from the tape"


async def test_what_answered_last_is_told_where_a_run_changes_models() -> None:
    client = ScriptedClient([call("nothing"), reply("ok")])

    result = await AgentExecutor(client).execute(agent("scripted:one"), inputs=HI)

    assert result.metadata["model"] == "one"


async def test_without_a_key_the_offline_model_answers_and_a_program_is_warned() -> None:
    async with AgentExecutor(settings=NO_SETTINGS) as executor:
        with pytest.warns(RuntimeWarning, match="the offline model answers"):
            result = await executor.execute(agent(), inputs=HI)

    assert result.metadata["model"] == "offline"
