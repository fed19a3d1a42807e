"""An agent runs the same on every provider, and what a model sends broken never reaches a tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from conformance.providers.asking import ADD_ONCE, ADD_TWICE_AND_TELL_THE_TIME
from conformance.providers.provider import Provider
from conformance.providers.roster import each_provider
from conformance.providers.scenarios import LOOP_TURNS, Scenario
from conformance.providers.wired import ClaudeProvider, OpenAIProvider
from maverick import AgentDefinition, AgentExecutor, AgentResult, OutputConfig, connect, tool
from maverick.loop.events import AgentActivityEvent, ContentChunk, RetryScheduled
from maverick.loop.result import TerminateReason, ToolOutcome
from maverick.model import LLMClient
from maverick.testing import RecordingClient
from scenario import agent, assert_valid

watched_or_not = pytest.mark.parametrize("watched", [False, True], ids=["unwatched", "watched"])


class Place(BaseModel):
    city: str


class Unknown(BaseModel):
    why: str


class Workshop:
    """Tools that note what they were called with, and the events of the run if it was watched."""

    def __init__(self) -> None:
        self.ran: list[tuple[object, ...]] = []
        self.events: list[AgentActivityEvent] = []

        @tool(effect="pure")
        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            self.ran.append(("add", a, b))
            return a + b

        @tool(effect="pure")
        async def now() -> str:
            """What time it is."""
            self.ran.append(("now",))
            return "noon"

        @tool
        async def write_file(path: str = "", content: str = "") -> str:
            """Write a file."""
            self.ran.append(("write_file", path, content))
            return "written"

        @tool
        async def delete_everything() -> str:
            """Delete everything."""
            self.ran.append(("delete_everything",))
            return "deleted"

        self.tools = (add, now, write_file, delete_everything)

    async def run(
        self, client: LLMClient, definition: AgentDefinition[Any], *, watched: bool
    ) -> AgentResult[Any]:
        listener = self.events.append if watched else None
        result = await AgentExecutor(client).execute(definition, on_activity=listener)
        assert_valid(result.messages)
        return result


@pytest.fixture
def workshop() -> Workshop:
    return Workshop()


@watched_or_not
@each_provider(Scenario.TOOL)
async def test_a_tool_is_run_and_the_model_goes_on(
    provider: Provider, workshop: Workshop, watched: bool
) -> None:
    async with provider.stage(Scenario.TOOL, Scenario.TEXT) as stage:
        result = await workshop.run(stage.client, agent(*workshop.tools[:2], ask=ADD_ONCE), watched=watched)

    assert result.success, result.error
    assert workshop.ran == [("add", 2, 3)]
    assert result.turn_count == 2


@pytest.mark.requirement("003-FR2-AC4", "P3")
@watched_or_not
@each_provider(Scenario.PARALLEL_TOOLS)
async def test_tools_of_one_turn_each_get_their_result(
    provider: Provider, workshop: Workshop, watched: bool
) -> None:
    definition = agent(*workshop.tools[:2], ask=ADD_TWICE_AND_TELL_THE_TIME)
    async with provider.stage(Scenario.PARALLEL_TOOLS, Scenario.TEXT) as stage:
        result = await workshop.run(stage.client, definition, watched=watched)

    assert result.success, result.error
    assert workshop.ran == [("add", 1, 2), ("add", 3, 4), ("now",)]
    assert [record.result for record in result.tool_calls] == ["3", "7", "noon"]


@pytest.mark.requirement("003-G1", "002-AC9")
@watched_or_not
@each_provider(Scenario.LOOP)
async def test_a_long_loop_runs_to_its_end(provider: Provider, workshop: Workshop, watched: bool) -> None:
    async with provider.stage(Scenario.LOOP) as stage:
        definition = agent(*workshop.tools, max_turns=LOOP_TURNS + 1)
        result = await workshop.run(stage.client, definition, watched=watched)

    assert result.success, result.error
    assert result.output == f"done after {LOOP_TURNS}"
    assert workshop.ran == [("add", turn, 1) for turn in range(LOOP_TURNS)]
    assert result.turn_count == LOOP_TURNS + 1


@pytest.mark.parametrize("provider", [ClaudeProvider(), OpenAIProvider()], ids=lambda provider: provider.name)
async def test_a_long_loop_that_was_recorded_is_replayed_without_the_service(
    provider: Provider, workshop: Workshop, tmp_path: Path
) -> None:
    tape = tmp_path / "run.json"
    definition = agent(*workshop.tools, max_turns=LOOP_TURNS + 1)
    async with provider.stage(Scenario.LOOP) as stage:
        recorded = await workshop.run(RecordingClient(stage.client, tape), definition, watched=True)

    replayed = await workshop.run(connect(f"cassette:{tape}"), definition, watched=True)

    assert replayed.success, replayed.error
    assert replayed.messages == recorded.messages
    assert workshop.ran == [("add", turn, 1) for turn in range(LOOP_TURNS)] * 2


@pytest.mark.requirement("003-FR5-AC1")
@watched_or_not
@each_provider(Scenario.STRUCTURED)
@pytest.mark.parametrize(
    ("output", "kind"),
    [(Place, Place), (Place | Unknown, Place), (list[Place], list)],
    ids=["model", "union", "list"],
)
async def test_an_answer_becomes_a_value_of_the_declared_type(
    provider: Provider, workshop: Workshop, output: Any, kind: type, watched: bool
) -> None:
    definition = agent(ask="Where is it?", output=OutputConfig("place", output))
    async with provider.stage(Scenario.STRUCTURED) as stage:
        result = await workshop.run(stage.client, definition, watched=watched)

    assert result.success, result.error
    assert isinstance(result.output, kind)
    assert result.turn_count == 1


@pytest.mark.requirement("002-R8-RETRY", "003-ERR-LLM")
@watched_or_not
@each_provider(Scenario.CUT)
async def test_an_answer_that_breaks_off_is_asked_for_again_and_the_run_ends_well(
    provider: Provider, workshop: Workshop, watched: bool
) -> None:
    async with provider.stage(Scenario.CUT, Scenario.TEXT) as stage:
        result = await workshop.run(stage.client, agent(), watched=watched)

    assert result.success, result.error
    assert result.output == provider.hello
    assert [message.content for message in result.messages] == ["Do it.", provider.hello]
    if watched:
        told = [type(event) for event in workshop.events]
        assert told.count(RetryScheduled) == 1
        assert ContentChunk in told[: told.index(RetryScheduled)]


@pytest.mark.requirement("P4", "003-ERR-TIMEOUT")
@watched_or_not
@pytest.mark.parametrize("fault", [Scenario.CUT, Scenario.STALL, Scenario.ERROR_EVENT])
@each_provider(Scenario.CUT, Scenario.STALL, Scenario.ERROR_EVENT)
async def test_what_had_arrived_is_kept_however_the_answer_breaks_off(
    provider: Provider, workshop: Workshop, fault: Scenario, watched: bool
) -> None:
    async with provider.stage(fault) as stage:
        result = await workshop.run(stage.client, agent(max_retries=0), watched=watched)

    assert result.terminate_reason is TerminateReason.ERROR
    assert result.raw_content
    assert provider.hello.startswith(result.raw_content)
    assert result.messages[-1].content == result.raw_content


@pytest.mark.requirement("P3", "F-STOP")
@watched_or_not
@pytest.mark.parametrize(
    "broken",
    [Scenario.TOOL_CUT_OFF, Scenario.TOOL_CUT_BEFORE_ARGUMENTS, Scenario.TOOL_ARGUMENTS_MALFORMED],
)
@each_provider(Scenario.TOOL_CUT_OFF, Scenario.TOOL_CUT_BEFORE_ARGUMENTS, Scenario.TOOL_ARGUMENTS_MALFORMED)
async def test_a_call_that_came_broken_is_never_run_and_the_model_is_told(
    provider: Provider, workshop: Workshop, broken: Scenario, watched: bool
) -> None:
    async with provider.stage(broken, Scenario.TEXT) as stage:
        result = await workshop.run(stage.client, agent(*workshop.tools), watched=watched)

    assert result.success, result.error
    assert workshop.ran == []
    assert result.tool_calls
    assert {record.outcome for record in result.tool_calls} == {ToolOutcome.DENIED}


@pytest.mark.requirement("F-STOP")
@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (Scenario.REFUSAL, TerminateReason.REFUSED),
        (Scenario.MAX_TOKENS, TerminateReason.MAX_TOKENS),
    ],
)
@each_provider(Scenario.REFUSAL, Scenario.MAX_TOKENS)
async def test_a_refused_or_truncated_answer_ends_the_run_and_says_why(
    provider: Provider, workshop: Workshop, scenario: Scenario, reason: TerminateReason
) -> None:
    async with provider.stage(scenario) as stage:
        result = await workshop.run(stage.client, agent(), watched=True)

    assert not result.success
    assert result.terminate_reason is reason


@pytest.mark.requirement("F-STOP")
@each_provider(Scenario.PAUSE)
async def test_a_pause_is_followed_by_the_rest(provider: Provider, workshop: Workshop) -> None:
    async with provider.stage(Scenario.PAUSE, Scenario.TEXT) as stage:
        result = await workshop.run(stage.client, agent(), watched=True)

    assert result.success, result.error
    assert result.output == provider.hello


@pytest.mark.requirement("P8", "002-R4-ERROR", "003-NFR2-ERRORS")
@pytest.mark.parametrize("scenario", [Scenario.WRONG_KEY, Scenario.NO_SUCH_MODEL, Scenario.TOO_LARGE])
@each_provider(Scenario.WRONG_KEY, Scenario.NO_SUCH_MODEL, Scenario.TOO_LARGE)
async def test_what_trying_again_cannot_mend_ends_the_run_at_once(
    provider: Provider, workshop: Workshop, scenario: Scenario
) -> None:
    async with provider.stage(scenario, Scenario.TEXT) as stage:
        result = await workshop.run(stage.client, agent(), watched=True)

    assert result.terminate_reason is TerminateReason.ERROR
    assert RetryScheduled not in map(type, workshop.events)
