"""Every provider the suite runs against, and the decorators that run a test against each that can have its scenarios."""

from __future__ import annotations

import pytest

from conformance.providers.asking import WAYS
from conformance.providers.failures import FAILURES
from conformance.providers.in_process import OfflineProvider, ScriptedProvider
from conformance.providers.provider import Provider
from conformance.providers.scenarios import Scenario
from conformance.providers.strict import (
    StrictChatProvider,
    StrictClaudeProvider,
    StrictClaudeSDKProvider,
    StrictResponsesProvider,
)
from conformance.providers.wired import (
    ClaudeProvider,
    ClaudeSDKProvider,
    OpenAIChatProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
)
from conformance.providers.wrapped import (
    CassetteProvider,
    FallbackProvider,
    LimitedProvider,
    RecordingProvider,
)

PROVIDERS: tuple[Provider, ...] = (
    ClaudeProvider(),
    ClaudeSDKProvider(),
    OpenAIProvider(),
    OpenAIResponsesProvider(),
    OpenAIChatProvider(),
    CassetteProvider(),
    OfflineProvider(),
    ScriptedProvider(),
    FallbackProvider(),
    LimitedProvider(),
    RecordingProvider(),
)

STRICT_PROVIDERS: tuple[Provider, ...] = (
    StrictClaudeProvider(),
    StrictClaudeSDKProvider(),
    StrictResponsesProvider(),
    StrictChatProvider(),
)
"""Those of the wires again, with services that refuse what the vendor refuses; faults stay with the others."""


_SMOKE = frozenset({Scenario.TEXT, Scenario.CUT, Scenario.UNFINISHED, Scenario.UNANSWERED})
"""What a provider that hands everything on is tested with: an answer, a fault, and being cancelled."""


def can_have(provider: Provider, scenarios: set[Scenario]) -> bool:
    return provider.cannot.keys().isdisjoint(scenarios) and (not provider.passes_on or scenarios <= _SMOKE)


def each_provider(*scenarios: Scenario, strict: bool = True) -> pytest.MarkDecorator:
    """Run a test against every provider that can have these scenarios.

    Args:
        scenarios: What the test needs.
        strict: Whether it says anything about requests, so that the strict services are to judge them, too.
    """
    on_roster = (*PROVIDERS, *STRICT_PROVIDERS) if strict else PROVIDERS
    able = [provider for provider in on_roster if can_have(provider, set(scenarios))]
    return pytest.mark.parametrize("provider", able, ids=lambda provider: provider.name)


def each_failure() -> pytest.MarkDecorator:
    """Run a test for every fault, in both ways, against every provider that can have it."""
    return pytest.mark.parametrize(
        ("provider", "scenario", "way"),
        [
            pytest.param(provider, scenario, way, id=f"{provider.name}-{scenario}-{way}")
            for provider in PROVIDERS
            for way in WAYS
            for scenario in FAILURES[way]
            if can_have(provider, {scenario})
        ],
    )


both_ways = pytest.mark.parametrize("way", WAYS)
