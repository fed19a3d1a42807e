"""A key, and an address, belong to the provider they were set for: no agent gets them by naming another."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from attacks.stranger import Machine
from maverick import AgentDefinition, AgentExecutor, ModelConfig, connect
from maverick.config import AgentConfig, Secret
from maverick.exceptions import ConfigError
from maverick.providers.resolve import resolve
from wire.claude_server import ClaudeServer
from wire.openai_server import OpenAIServer


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.requirement("KEY-OWNER")
async def test_maverick_s_key_is_for_the_configured_provider_and_no_other(machine: Machine) -> None:
    agent = machine.write(
        "spy.md", "---\nname: spy\ndescription: d\nmodel: openai:gpt-5\ntools: []\n---\nHelp.\n"
    )
    async with OpenAIServer() as theirs:
        machine.env = {"MAVERICK_AGENT_API_KEY": "key-for-claude", "OPENAI_BASE_URL": theirs.at("text")}

        done = await machine.maverick("run", str(agent), "-p", "hi")

    assert done.returncode == 0, done.stderr
    assert [asked.headers.get("authorization") for asked in theirs.received] == [None]


@pytest.mark.requirement("KEY-OWNER")
async def test_an_agent_of_another_provider_gets_that_providers_key_and_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with ClaudeServer() as claude, OpenAIServer() as openai:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-anthropic")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", claude.at("text"))
        settings = AgentConfig(
            provider="openai", model="m", api_key=Secret("key-for-openai"), base_url=openai.at("text")
        )
        agent = AgentDefinition(
            name="other", description="Other.", model_config=ModelConfig(model="claude:claude-opus-5-5")
        )
        async with AgentExecutor(settings=settings) as executor:
            result = await executor.execute(agent, inputs={"prompt": "hi"})
            own = await executor.execute(
                AgentDefinition(name="own", description="Own."), inputs={"prompt": "hi"}
            )

    assert (result.success, own.success) == (True, True)
    assert [asked.headers["x-api-key"] for asked in claude.received] == ["key-of-anthropic"]
    assert [asked.headers["authorization"] for asked in openai.received] == ["Bearer key-for-openai"]
    assert (result.metadata["model"], own.metadata["model"]) == ("claude-opus-5-5", "m")


@pytest.mark.requirement("KEY-OWNER", "002-R9")
@pytest.mark.parametrize(
    ("source", "fix"),
    [
        ("/home/ana/config.yaml", "Correct agent.api_key in /home/ana/config.yaml, remove it to use"),
        ("MAVERICK_AGENT_API_KEY", "Correct MAVERICK_AGENT_API_KEY, remove it to use"),
        ("argument", "Correct the argument api_key, remove it to use"),
    ],
)
def test_the_advice_names_the_place_of_the_wrong_key(source: str, fix: str) -> None:
    settings = AgentConfig(provider="claude", api_key=Secret("sk-proj-1"), sources={"agent.api_key": source})

    with pytest.raises(ConfigError, match=f"{fix} ANTHROPIC_API_KEY, or choose another model") as raised:
        resolve(settings, environ={"ANTHROPIC_API_KEY": "sk-ant-1"}).check()

    assert (raised.value.source, raised.value.field) == (source, "agent.api_key")


@pytest.mark.requirement("KEY-OWNER")
@pytest.mark.parametrize(
    ("env", "says"),
    [
        (
            {
                "MAVERICK_AGENT_PROVIDER": "openai",
                "MAVERICK_AGENT_MODEL": "gpt-5",
                "OPENAI_API_KEY": "sk-ant-1",
            },
            "The key from OPENAI_API_KEY is a key for Claude",
        ),
        ({"ANTHROPIC_API_KEY": "sk-proj-1"}, "The key from ANTHROPIC_API_KEY is a key for OpenAI"),
        ({"MAVERICK_AGENT_PROVIDER": "foo"}, "There is no provider named 'foo'"),
        (
            {"MAVERICK_AGENT_PROVIDER": "openai", "MAVERICK_AGENT_MODEL": "gpt-5"},
            "There is no key for OpenAI",
        ),
        ({"MAVERICK_AGENT_PROVIDER": "openai"}, "needs a model"),
        ({"MAVERICK_AGENT_MODEL": "claude-opus-5-5"}, "There is no key for Claude"),
        ({"ANTHROPIC_API_KEY": "k", "MAVERICK_AGENT_MODEL": "openia:gpt-5"}, "Did you mean 'openai'?"),
    ],
)
@pytest.mark.parametrize(
    "command", [("run", "-p", "hi"), ("chat",), ("serve", "--no-browser", "--port", "0")]
)
async def test_what_can_not_work_is_refused_before_anything_is_done(
    command: tuple[str, ...], env: dict[str, str], says: str, machine: Machine
) -> None:
    machine.env = env

    done = await machine.maverick(*command, said=b"hi\n")

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert says in line
    assert "sk-" not in line


@pytest.mark.requirement("WHO-ANSWERS")
@pytest.mark.parametrize(
    ("provider", "model", "says"),
    [
        (None, "openia:gpt-5", "no provider named 'openia'. Did you mean 'openai'?"),
        (None, "foo:bar", "no provider named 'foo'"),
        (None, "anthropic:claude-opus-5-5", "write 'claude:…'"),
        ("claude", "foo:bar", "no provider named 'foo'"),
        (
            "claude",
            "openai:gpt-5",
            "'openai:gpt-5' (from a file) is a model of 'openai', but agent.provider is 'claude'",
        ),
        ("openai", "cluade:claude-opus-5-5", "Did you mean 'claude'?"),
    ],
)
def test_a_model_of_another_provider_is_never_sent_to_the_configured_one(
    provider: str | None, model: str, says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(_configured(provider, model))

    assert caught.value.field == "agent.model"
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("openai", "ft:gpt-4o-mini-2024-07-18:acme::abc", "ft:gpt-4o-mini-2024-07-18:acme::abc"),
        ("openai", "llama3:8b", "llama3:8b"),
        ("openai-chat", "openchat:7b", "openchat:7b"),
        (
            "claude-sdk",
            "anthropic.claude-3-5-sonnet-20241022-v2:0",
            "anthropic.claude-3-5-sonnet-20241022-v2:0",
        ),
        (None, "claude:qwen3:8b", "qwen3:8b"),
        ("claude", "deepseek/deepseek-r1:free", "deepseek/deepseek-r1:free"),
        (None, "us.anthropic.claude-opus-5-v1:0", "us.anthropic.claude-opus-5-v1:0"),
        (None, "openai:ft:gpt-4o:acme", "ft:gpt-4o:acme"),
    ],
)
def test_a_colon_in_the_name_of_a_model_is_no_provider(provider: str | None, model: str, name: str) -> None:
    assert resolve(_configured(provider, model)).name == name


def test_a_server_of_ones_own_has_models_with_colons_in_their_names() -> None:
    settings = replace(_configured("claude", "qwen3:8b"), base_url="http://localhost:11434")

    assert resolve(settings).name == "qwen3:8b"


def _configured(provider: str | None, model: str) -> AgentConfig:
    if provider is None:
        return AgentConfig(model=model, sources={"agent.model": "a file"})
    return AgentConfig(
        model=model, provider=provider, sources={"agent.model": "a file", "agent.provider": "a file"}
    )


@pytest.mark.parametrize(
    "settings", [AgentConfig(provider="foo"), AgentConfig(model="m"), AgentConfig(base_url="http://x")]
)
async def test_an_executor_refuses_it_too(settings: AgentConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    with pytest.raises(ConfigError):
        await AgentExecutor(settings=settings).execute(
            AgentDefinition(name="own", description="Own."), inputs={"prompt": "hi"}
        )


def test_the_ways_to_claude_share_a_key_and_others_do_not() -> None:
    settings = AgentConfig(api_key=Secret("k"), base_url="http://x")

    for model, shared in (
        ("claude-sdk:m", True),
        ("claude-code:m", True),
        ("openai:m", False),
        ("local:m", False),
    ):
        found = resolve(settings, named=model, environ={})
        assert (found.api_key is not None, found.base_url is not None) == (shared, shared), model


@pytest.mark.requirement("KEY-OWNER")
def test_a_key_for_openai_is_not_sent_to_another_vendor_that_speaks_its_protocol(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-proj-0123456789abcdef")
    google = "https://generativelanguage.googleapis.com/v1beta/openai/"

    with pytest.raises(ConfigError, match=r"generativelanguage\.googleapis\.com"):
        connect("openai:gemini-3.5-flash", base_url=google)

    for base_url in ("http://localhost:4000", "https://mine.openai.azure.com/openai/v1"):
        connect("openai:gpt-6-luna", base_url=base_url)
    connect("openai:gemini-3.5-flash", base_url=google, api_key="key-of-google")


@pytest.mark.requirement("KEY-OWNER")
@pytest.mark.parametrize(
    ("provider", "address"),
    [
        ("claude", "https://api.deepseek.com/anthropic"),
        ("claude", "https://openrouter.ai/api"),
        ("claude-sdk", "https://api.openai.com/v1"),
        ("openai", "https://not-anthropic.com/v1"),
    ],
)
def test_a_key_for_claude_is_not_sent_to_another_vendor(provider: str, address: str) -> None:
    settings = AgentConfig(provider=provider, model="m", base_url=address, api_key=Secret("sk-ant-1"))

    with pytest.raises(ConfigError, match="is a key for Claude"):
        resolve(settings, environ={}).check()


@pytest.mark.parametrize(
    ("provider", "address"),
    [
        ("claude", None),
        ("claude", "http://localhost:4000"),
        ("claude", "https://proxy.example.org"),
        ("claude", "https://api.anthropic.com"),
        ("openai", "https://api.anthropic.com/v1"),
    ],
)
def test_a_key_for_claude_is_sent_to_claude_and_to_the_users_own_server(
    provider: str, address: str | None
) -> None:
    settings = AgentConfig(provider=provider, model="m", base_url=address, api_key=Secret("sk-ant-1"))

    assert resolve(settings, environ={}).check().base_url == address
