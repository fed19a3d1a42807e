"""Everything that goes wrong between us and a model is one typed error, the same from every provider."""

from __future__ import annotations

import traceback

import pytest

from conformance.providers.asking import HI, Way, ask, everything_of
from conformance.providers.failures import FAILURES
from conformance.providers.provider import KEY, Provider
from conformance.providers.roster import each_failure, each_provider
from conformance.providers.scenarios import Scenario
from maverick.exceptions import AgentError, StreamingError
from maverick.model import LLMClient, TextDelta
from maverick.providers.client import open_stream

REQUEST_ID = "req_test_1"
OURS_OR_PYTHONS = {"maverick", "builtins", "ssl", "socket"}


async def failure(provider: Provider, scenario: Scenario, way: Way) -> AgentError:
    async with provider.stage(scenario) as stage:
        with pytest.raises(AgentError) as caught:
            await ask(stage.client, HI, way)
    return caught.value


def expect_nothing_raw(error: AgentError) -> None:
    """Neither the key nor anybody else's error is to be seen in it, nor in what it came from."""
    shown = "".join(traceback.format_exception(error)) + repr(vars(error))
    assert KEY not in shown
    for raised in everything_of(error):
        assert type(raised).__module__.partition(".")[0] in OURS_OR_PYTHONS


@pytest.mark.requirement("P8", "P9", "002-R8")
@each_failure()
async def test_a_fault_is_one_typed_error_that_says_what_to_do(
    provider: Provider, scenario: Scenario, way: Way
) -> None:
    expected = FAILURES[way][scenario]

    error = await failure(provider, scenario, way)

    assert type(error) is expected.error
    assert (error.kind, error.retryable) == (expected.kind, expected.retryable)
    assert getattr(error, "status", None) in expected.statuses
    assert getattr(error, "retry_after", None) == expected.retry_after
    assert expected.advice in str(error)
    if expected.has_request_id is not None:
        assert (REQUEST_ID in str(error)) == expected.has_request_id
    if expected.has_request_id and hasattr(error, "request_id"):
        assert error.request_id == REQUEST_ID
    expect_nothing_raw(error)


@each_provider(Scenario.CUT)
async def test_the_words_before_a_break_are_heard(provider: Provider) -> None:
    said: list[str] = []

    async def hear(client: LLMClient) -> None:
        async with open_stream(client, HI) as items:
            async for item in items:
                assert isinstance(item, TextDelta)
                said.append(item.text)

    async with provider.stage(Scenario.CUT) as stage:
        with pytest.raises(StreamingError):
            await hear(stage.client)

    assert said
    assert provider.hello.startswith("".join(said))


@each_provider(Scenario.PARTIAL)
async def test_what_had_arrived_of_a_broken_stream_is_in_its_error(provider: Provider) -> None:
    error = await failure(provider, Scenario.PARTIAL, "streamed")

    assert isinstance(error, StreamingError)
    (partial,) = error.partial_messages
    assert partial.content
    assert provider.hello.startswith(partial.content)
