from __future__ import annotations

import pytest

from maverick.cli.keys import key_source, offline_instead
from maverick.config import AgentConfig, Secret

CLAUDE, OPENAI = "claude:claude-sonnet-5-5", "openai:gpt-5"


@pytest.mark.parametrize(
    ("settings", "environ", "claude", "openai"),
    [
        (AgentConfig(), {}, None, None),
        (AgentConfig(), {"ANTHROPIC_API_KEY": "k"}, "ANTHROPIC_API_KEY", None),
        (AgentConfig(), {"MAVERICK_AGENT_API_KEY": "k"}, "MAVERICK_AGENT_API_KEY", None),
        (AgentConfig(), {"ANTHROPIC_API_KEY": " ", "OPENAI_API_KEY": "k"}, None, "OPENAI_API_KEY"),
        (AgentConfig(api_key=Secret("k")), {}, "settings", None),
        (AgentConfig(provider="openai", api_key=Secret("k")), {}, None, "settings"),
    ],
)
def test_a_key_is_its_own_providers_and_nobody_elses(
    settings: AgentConfig, environ: dict[str, str], claude: str | None, openai: str | None
) -> None:
    assert key_source("claude", settings, environ) == claude
    assert key_source("openai", settings, environ) == openai
    assert offline_instead(CLAUDE, settings, environ) is (claude is None)
    assert offline_instead(OPENAI, settings, environ) is (openai is None)


@pytest.mark.requirement("007-RUN")
@pytest.mark.parametrize(
    ("model", "settings", "environ"),
    [
        ("offline:", AgentConfig(), {}),
        ("local:model.gguf", AgentConfig(), {}),
        (CLAUDE, AgentConfig(base_url="http://127.0.0.1:1"), {}),
        (CLAUDE, AgentConfig(), {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}),
        (OPENAI, AgentConfig(), {"OPENAI_BASE_URL": "http://127.0.0.1:1"}),
    ],
)
def test_what_may_need_no_key_is_not_replaced(
    model: str, settings: AgentConfig, environ: dict[str, str]
) -> None:
    assert not offline_instead(model, settings, environ)
