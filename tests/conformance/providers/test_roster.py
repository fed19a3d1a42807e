"""Nothing drops out of the suite unnoticed: no provider, no scenario, and no pair of the two."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.providers.asking import add
from conformance.providers.failures import FAILURES
from conformance.providers.provider import Provider
from conformance.providers.roster import PROVIDERS, STRICT_PROVIDERS
from conformance.providers.scenarios import Scenario
from maverick.config.provider_names import BUILT_IN
from maverick.exceptions import ProviderError
from maverick.model import Message, Request, ToolCall
from wire import claude_server, openai_server

ELSEWHERE = {
    "claude-code": "it hands whole runs to the CLI, which has tools of its own",
    "local": "it is the openai client with a server of its own, which needs a model's file",
}
"""The built-in providers that the suite leaves out, each with the reason."""


def test_every_built_in_provider_is_on_the_roster_or_has_a_reason_not_to_be() -> None:
    names = {provider.name for provider in PROVIDERS}

    assert names >= BUILT_IN.keys() - ELSEWHERE.keys()
    assert ELSEWHERE.keys() <= BUILT_IN.keys()


def test_a_scenario_that_a_provider_cannot_have_has_a_reason() -> None:
    assert all(reason for provider in (*PROVIDERS, *STRICT_PROVIDERS) for reason in provider.cannot.values())


def test_every_scenario_is_put_to_the_test() -> None:
    folder = Path(__file__).parent
    tests = "".join(path.read_text("utf-8") for path in folder.glob("test_*.py"))
    faults = {*FAILURES["whole"], *FAILURES["streamed"]}

    assert {scenario for scenario in Scenario if f"Scenario.{scenario.name}" not in tests} <= faults


def test_every_fault_that_both_servers_can_play_is_a_scenario() -> None:
    harmless = {"one_byte_at_a_time", "carriage_returns", "never_ends"}
    differing = {"no_credit"}  # a refusal at one, a rate limit at the other

    assert claude_server.FAULTS.keys() & openai_server.FAULTS.keys() - harmless - differing <= set(Scenario)


@pytest.mark.parametrize("provider", STRICT_PROVIDERS, ids=lambda provider: provider.name)
async def test_a_refused_request_fails_a_test_on_a_strict_service_even_if_the_client_gets_over_it(
    provider: Provider,
) -> None:
    call = Message.assistant([ToolCall("call_1", "add", {"a": 1, "b": 2})])
    unanswered = Request([Message.user("Add."), call, Message.user("Well?")], tools=(add,))

    async def get_over_it() -> None:
        async with provider.stage(Scenario.TEXT) as stage:
            with pytest.raises(ProviderError):
                await stage.client.run(unanswered)

    with pytest.raises(AssertionError, match="call_1"):
        await get_over_it()
