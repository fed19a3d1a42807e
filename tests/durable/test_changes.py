"""A run is not resumed with another agent than it was made with, unless somebody says so."""

from __future__ import annotations

from typing import Any

import pytest

from durable.office import Office, ProcessDied, die_at, executor
from maverick import ModelConfig, OutputConfig, PromptConfig, RunConfig, ToolConfig
from maverick.exceptions import RunChangedError
from maverick.journal import Journal
from maverick.testing import call, reply


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


async def test_other_limits_are_no_change(journal: Journal, office: Office) -> None:
    await interrupted_run(journal, office)
    running = executor(journal, call("look", what="door"), reply("Done."))
    assert (await running.resume("r", office.clerk(run_config=RunConfig(max_turns=9)))).success
