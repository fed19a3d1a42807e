"""Agents whose module says what they are run with, on the command line."""

from __future__ import annotations

import asyncio

from cli.folder import Folder
from maverick import AgentDefinition, AgentExecutor, ToolConfig, tool
from maverick.journal import SqliteJournal
from maverick.testing import ScriptedClient, call

OFFICE = """
    from maverick import AgentDefinition, AgentExecutor, ToolConfig, tool
    from maverick.testing import ScriptedClient, call, reply
    from maverick.tools.permissions import Permissions

    @tool(effect="pure")
    def stamp() -> str:
        '''Stamp a paper.'''
        return "stamped"

    clerk = AgentDefinition("clerk", "Works.", tool_config=ToolConfig(tools=[stamp]))

    def executor(definition, user_id):
        def answer(request):
            return call("stamp") if len(request.messages) < 2 else reply(f"{request.messages[-1].content} by ours")
        return AgentExecutor(ScriptedClient(answer), permissions=Permissions("yolo", ask=["stamp"]))
"""


def test_a_run_is_begun_and_resumed_with_the_executor_of_its_module(folder: Folder) -> None:
    folder.write("office.py", OFFICE)
    folder.write("wrong.py", OFFICE.replace("return AgentExecutor(", "return dict("))

    parked = folder.main("run", "office.py", "-p", "Work.", "--run-id", "work")
    folder.main("runs", "approve", "work")
    resumed = folder.main("runs", "resume", "work", "--agents", "office.py")

    assert parked.returncode == 3, parked.stderr
    assert "offline model" not in parked.stderr
    assert (resumed.returncode, resumed.stdout) == (0, "stamped by ours\n"), resumed.stderr
    assert "wrong.py: executor(definition, user_id) failed. wrong.py, line 15: TypeError" in folder.refuse(
        "run", "wrong.py", "-p", "x"
    )


def test_cases_are_evaluated_with_the_executor_of_the_module(folder: Folder) -> None:
    ours = OFFICE.replace('Permissions("yolo", ask=["stamp"])', 'Permissions("yolo")')
    cases = """
    from maverick.evals import Case, contains

    cases = [Case("stamps", {"prompt": "Work."}, checks=[contains("stamped by ours")])]
    """
    folder.write("office.py", ours + cases)

    evaluated = folder.main("eval", "office.py")

    assert "1 of 1 cases passed" in evaluated.stdout, evaluated.stderr
    assert "offline model" not in evaluated.stderr


def test_a_run_that_was_begun_without_naming_a_model_is_resumed_on_the_one_that_is_set(
    folder: Folder,
) -> None:
    @tool(approval=True)
    def stamp() -> str:
        """Stamp a paper."""
        return "stamped"

    async def begin() -> None:
        clerk: AgentDefinition[str] = AgentDefinition(
            "clerk", "Works.", tool_config=ToolConfig(tools=[stamp])
        )
        async with SqliteJournal(folder.path / "runs.db") as journal:
            executor = AgentExecutor(ScriptedClient([call("stamp")]), journal=journal)
            await executor.execute(clerk, inputs={"prompt": "Work."}, run_id="work")

    asyncio.run(begin())
    office = OFFICE.partition("def executor")[0].replace('effect="pure"', "approval=True")
    folder.write("office.py", office)
    folder.main("runs", "deny", "work", "--journal", "runs.db")

    resumed = folder.main("runs", "resume", "work", "--agents", "office.py", "--journal", "runs.db")

    assert resumed.returncode == 0, resumed.stderr
