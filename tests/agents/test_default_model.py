"""The model of agents that are classes and name none: the seed's default until it is retired, then its successor."""

from __future__ import annotations

import warnings
from datetime import date, timedelta
from pathlib import Path

import pytest

from maverick.agents import DEFAULT_MODEL, AgentContext, AgentResult, MaverickAgent, class_definition
from maverick.agents.class_definition import RETIREMENT, SUCCESSOR, default_model
from maverick.agents.context import NO_BRANCH
from maverick.config import AgentConfig, MaverickConfig, Secret


class Greeter(MaverickAgent):
    def __init__(self, **options: object) -> None:
        super().__init__("greeter", "You greet.", **options)  # type: ignore[arg-type]

    async def execute(self, context: AgentContext) -> AgentResult[str]:
        return await self.run_prompt("Greet.", context)


@pytest.mark.requirement("001-CONSTANTS")
def test_the_default_is_the_seeds_until_the_day_it_is_retired_and_then_its_successor() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = default_model(RETIREMENT - timedelta(days=1))
    with pytest.warns(UserWarning, match=f"{DEFAULT_MODEL} was retired on 2026-11-30; {SUCCESSOR} is used"):
        after = default_model(RETIREMENT)

    assert (before, after) == ("claude-sonnet-4-5-20250929", "claude-sonnet-5-5")
    assert DEFAULT_MODEL == "claude-sonnet-4-5-20250929"


def test_a_model_that_somebody_named_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_definition, "_today", lambda: date(2027, 1, 1))

    assert Greeter(model=DEFAULT_MODEL).model == DEFAULT_MODEL
    with pytest.warns(UserWarning, match="was retired"):
        assert Greeter().model == SUCCESSOR


@pytest.mark.requirement("002-R9", "KEY-OWNER")
def test_the_settings_hold_for_what_a_class_leaves_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    set_for_claude = AgentConfig(
        model="claude-opus-5-5",
        api_key=Secret("k"),
        base_url="http://127.0.0.1:1",
        request_timeout=9,
        max_tokens=50,
    )
    for_another = AgentConfig(provider="openai", model="gpt-5", api_key=Secret("k"), base_url="http://x")
    open_one, decided = (
        Greeter(model="claude-haiku-5-5", max_tokens=None),
        Greeter(model=None, max_tokens=None),
    )

    claude, another = (
        AgentContext(tmp_path, NO_BRANCH, MaverickConfig(agent=config))
        for config in (set_for_claude, for_another)
    )

    named, unnamed = open_one._options_in(claude), decided._options_in(claude)
    other = decided._options_in(another)

    assert (named.model, unnamed.model, other.model) == ("claude-haiku-5-5", "claude-opus-5-5", decided.model)
    assert unnamed.env["ANTHROPIC_API_KEY"] == "k"
    assert unnamed.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert unnamed.env["API_TIMEOUT_MS"] == "9000"
    assert unnamed.env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "50"
    assert {"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"}.isdisjoint(other.env)
