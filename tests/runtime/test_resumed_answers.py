"""An answer that was cut off is given anew when the run goes on, and what it had used is counted."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from maverick import AbortSignal, AgentExecutor, TerminateReason
from maverick.journal import Journal, MemoryJournal
from maverick.loop.events import AgentActivityEvent, ContentChunk
from maverick.model import Role
from maverick.testing import ScriptedClient, reply
from scenario import agent


@pytest.fixture
async def journal() -> AsyncIterator[Journal]:
    async with MemoryJournal() as journal:
        yield journal


def stop_at_first_words(signal: AbortSignal, event: AgentActivityEvent) -> None:
    if isinstance(event, ContentChunk):
        signal.abort("enough")


@pytest.mark.requirement("P3")
async def test_an_answer_that_was_cut_off_is_given_anew(journal: Journal) -> None:
    signal = AbortSignal()
    client = ScriptedClient([reply("Hello my friend", pace=0.01), reply("Hello my friend")])
    executor = AgentExecutor(client, journal=journal)

    stopped = await executor.execute(
        agent(), run_id="r", signal=signal, on_activity=lambda event: stop_at_first_words(signal, event)
    )
    resumed = await executor.resume("r", agent())

    assert (stopped.terminate_reason, stopped.messages[-1].role) == (
        TerminateReason.ABORTED,
        Role.ASSISTANT,
    )
    assert "Hello my friend".startswith(stopped.raw_content)
    assert stopped.raw_content
    assert [message.role for message in client.requests[1].messages] == [Role.USER]
    assert resumed.output == "Hello my friend"


@pytest.mark.requirement("P5")
async def test_an_answer_that_was_cut_off_is_charged_by_estimate(journal: Journal) -> None:
    signal = AbortSignal()
    client = ScriptedClient([reply("Hello my friend", pace=0.01)])

    stopped = await AgentExecutor(client, journal=journal).execute(
        agent(ask="word " * 300),
        signal=signal,
        on_activity=lambda event: stop_at_first_words(signal, event),
    )

    assert stopped.usage.input_tokens >= 300
    assert stopped.usage.output_tokens >= 1
