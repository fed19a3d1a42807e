"""A run is not resumed with another agent than it was made with, unless somebody says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from durable.office import Office, ProcessDied, die_at, executor
from maverick import (
    AgentDefinition,
    AgentExecutor,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunConfig,
    TerminateReason,
    ToolConfig,
)
from maverick.exceptions import NetworkError, RunChangedError
from maverick.journal import Journal
from maverick.loop.fingerprint import Fingerprint
from maverick.model import Request, Role
from maverick.providers.scripted import TurnLike
from maverick.runtime.toolset import Toolset
from maverick.testing import ScriptedClient, call, reply
from maverick.tools import FunctionTool


async def interrupted_run(journal: Journal, office: Office) -> None:
    die_at(journal, "ModelCalled", 2)
    with pytest.raises(ProcessDied):
        await executor(journal, call("look", what="door"), reply("Done.")).execute(office.clerk(), run_id="r")


@pytest.mark.requirement("P10")
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"prompt_config": PromptConfig("Be long.", ["Do it."])}, "the prompt has changed"),
        ({"prompt_config": PromptConfig("Be brief.", ["Do that."])}, "the prompt has changed"),
        ({"model_config": ModelConfig(model="offline:")}, "the model has changed"),
        ({"output_config": OutputConfig("numbers", list[int])}, "the output's type has changed"),
        ({"tool_config": ToolConfig()}, "the tool 'look' is gone"),
    ],
)
async def test_what_has_changed_is_named(
    journal: Journal, office: Office, change: dict[str, Any], named: str
) -> None:
    await interrupted_run(journal, office)
    with pytest.raises(RunChangedError, match=named) as caught:
        await executor(journal).resume("r", office.clerk(**change))
    assert any(named in said for said in caught.value.changes)
    assert "accept_changes=True" in str(caught.value)


@pytest.mark.requirement("P10")
async def test_a_tool_with_another_description_is_another_tool(journal: Journal, office: Office) -> None:
    await interrupted_run(journal, office)
    office.tools[0].description = "Look closely."
    with pytest.raises(RunChangedError, match="the tool 'look' has changed"):
        await executor(journal).resume("r", office.clerk())


@pytest.mark.requirement("P10")
async def test_accepted_changes_do_not_stop_the_run(journal: Journal, office: Office) -> None:
    await interrupted_run(journal, office)
    changed = office.clerk(prompt_config=PromptConfig("Be long.", ["Do it."]))
    running = executor(journal, call("look", what="door"), reply("Done."))
    assert (await running.resume("r", changed, accept_changes=True)).output == "Done."


@pytest.mark.requirement("P10")
async def test_a_run_that_has_its_answer_gives_it_again_whatever_has_changed(
    journal: Journal, office: Office
) -> None:
    await executor(journal, call("look", what="door"), reply("Done.")).execute(office.clerk(), run_id="r")
    changed = office.clerk(prompt_config=PromptConfig("Be long.", ["Do it."]), tool_config=ToolConfig())
    typed = office.clerk(output_config=OutputConfig("numbers", list[int]))

    assert (await executor(journal).resume("r", changed)).output == "Done."
    assert (await executor(journal).execute(changed, run_id="r", if_exists="resume")).output == "Done."
    with pytest.raises(
        RunChangedError, match="the output's type has changed"
    ):  # its answer is not of that type
        await executor(journal).resume("r", typed)


@pytest.mark.requirement("P10")
async def test_nothing_is_decided_for_a_run_that_could_not_go_on(journal: Journal, office: Office) -> None:
    await executor(journal, call("look", what="door")).execute(careful(office), run_id="r", user_id="ana")
    [asked] = await journal.list_approvals()
    changed = replace(careful(office), prompt_config=PromptConfig("Be long.", ["Do it."]))

    for decide in (executor(journal).approve, executor(journal).deny):
        with pytest.raises(RunChangedError):
            await decide(asked.approval_id, by="ana", resume=True, definition=changed)

    assert await journal.list_approvals() == [asked]


async def test_other_limits_are_no_change(journal: Journal, office: Office) -> None:
    await interrupted_run(journal, office)
    running = executor(journal, call("look", what="door"), reply("Done."))
    assert (await running.resume("r", office.clerk(run_config=RunConfig(max_turns=9)))).success


def careful(office: Office) -> AgentDefinition:
    """The clerk, with a person asked before each look."""
    asking = [
        FunctionTool(each.function, effect=each.effect, approval=each.name in ("look", "shred"))
        for each in office.tools
    ]
    return office.clerk(tool_config=ToolConfig(asking))


@pytest.mark.requirement("P10")
async def test_a_run_goes_on_with_a_person_asked_about_its_tool_from_now_on_if_that_is_accepted(
    journal: Journal, office: Office
) -> None:
    await interrupted_run(journal, office)

    running = executor(journal, call("look", what="door"), reply("Done."))
    with pytest.raises(
        RunChangedError, match="'approval' of the tool 'look' has changed from 'False' to 'True'"
    ):
        await running.resume("r", careful(office))
    result = await running.resume("r", careful(office), accept_changes=True)

    assert result.output == "Done."


@pytest.mark.requirement("P1", "P10")
def test_asking_for_approval_in_other_words_is_no_change(office: Office) -> None:
    (look, *_) = office.tools

    old, new, never = (
        Fingerprint.of(office.clerk(), {"look": FunctionTool(look.function, approval=approval)})
        for approval in ("there can not be a sandbox.", "there is no sandbox.", False)
    )

    assert old.changes(new) == []
    assert len(old.changes(never)) == 1


@pytest.mark.requirement("P10")
@pytest.mark.parametrize(
    "change",
    [
        {"run_config": RunConfig(max_retries=0)},
        {"model_config": ModelConfig(model="scripted:", context_window=1_000, max_tokens=100)},
    ],
    ids=["fewer retries", "a smaller window"],
)
async def test_a_run_is_told_and_forked_as_it_happened_whatever_its_agent_has_become(
    journal: Journal, office: Office, change: dict[str, Any]
) -> None:
    model = {"model_config": ModelConfig(model="scripted:")}
    look = call("look", what="door" * 400)
    script: list[TurnLike] = [NetworkError("Cut off."), look, look, reply("Done.")]
    running = AgentExecutor(ScriptedClient(script), journal=journal)
    await running.execute(office.clerk(**model), run_id="r")
    changed = office.clerk(**model | change)

    told = [event.type async for event in running.replay("r", changed)]
    going_on = AgentExecutor(ScriptedClient(lambda _: reply("Done again.")), journal=journal)
    forked = await going_on.fork("r", changed, turn=3)

    assert told[-1] == "run_end"
    assert forked.success, forked.error


@pytest.mark.requirement("P10")
async def test_the_first_new_turn_goes_by_what_the_agent_says_today(journal: Journal, office: Office) -> None:
    await executor(journal, call("look", what="door"), reply("Done.")).execute(office.clerk(), run_id="r")
    client = ScriptedClient([reply("Done again.")])
    going_on = AgentExecutor(client, journal=journal)

    terse = office.clerk(model_config=ModelConfig(model="scripted:", max_tokens=7))
    await going_on.fork("r", terse, turn=2)
    stopped = await going_on.fork("r", office.clerk(run_config=RunConfig(max_turns=1)), turn=2)

    assert [request.config.max_tokens for request in client.requests] == [7]
    assert stopped.terminate_reason is TerminateReason.MAX_TURNS


@pytest.mark.requirement("P10")
async def test_a_run_of_a_changed_subagent_does_not_go_on_in_silence(
    journal: Journal, office: Office
) -> None:
    def boss(prompt: str) -> AgentDefinition:
        typist = AgentDefinition(
            "typist",
            "Types.",
            prompt_config=PromptConfig(prompt, ["Type."]),
            tool_config=office.clerk().tool_config,
        )
        return AgentDefinition(
            "boss",
            "Leads.",
            prompt_config=PromptConfig("", ["Go."]),
            tool_config=ToolConfig([typist.as_tool()]),
        )

    def answer(request: Request) -> Any:
        leads = any(each.name == "typist" for each in request.tools)
        if any(message.role is Role.ASSISTANT for message in request.messages):
            return reply("Done." if leads else "Typed.")
        return call("typist") if leads else call("look", what="door")

    running = AgentExecutor(ScriptedClient(answer), journal=journal)
    die_at(journal, "ToolsStarted", 2)
    with pytest.raises(ProcessDied):
        await running.execute(boss("Be brief."), run_id="r")

    with pytest.raises(RunChangedError, match="the prompt has changed"):
        await running.resume("r", boss("Be long."))
    result = await running.resume("r", boss("Be long."), accept_changes=True)
    assert result.output == "Done."


@pytest.mark.requirement("P10")
async def test_whoever_works_on_a_run_is_not_stopped_by_somebody_with_another_agent(
    journal: Journal, office: Office
) -> None:
    async def meddle(_: Request) -> Any:
        with pytest.raises(RunChangedError):
            await executor(journal).resume(
                "r", office.clerk(prompt_config=PromptConfig("Be long.", ["Do it."]))
            )
        return reply("Done.")

    result = await AgentExecutor(ScriptedClient(meddle), journal=journal).execute(office.clerk(), run_id="r")

    assert result.output == "Done."


@pytest.mark.requirement("P10", "P1")
async def test_a_run_from_before_effects_were_pinned_is_resumed(
    journal: Journal, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def earlier(self: Toolset, definition: AgentDefinition[Any]) -> Fingerprint:
        kept = msgspec.to_builtins(Fingerprint.of(definition, self.tools))
        del kept["conduct"]
        return msgspec.convert(kept, Fingerprint)

    with monkeypatch.context() as then:
        then.setattr(Toolset, "fingerprint", earlier)
        await interrupted_run(journal, office)

    running = executor(journal, call("look", what="door"), reply("Done."))
    assert (await running.resume("r", careful(office))).output == "Done."
