"""A CLI that others are asked before has its run all the same, and so its tools."""

from __future__ import annotations

import pytest

from claude_cli_runs.scripted_api import Serve, calls, in_turn, says
from maverick import AgentExecutor
from maverick.exceptions import NetworkError
from maverick.loop.result import ToolOutcome
from maverick.providers.claude_cli import cli_tool
from maverick.providers.wrappers.fallback import FallbackClient
from maverick.testing import ScriptedClient
from scenario import agent


@pytest.mark.requirement("005-RUN", "005-RUN-OWN-TOOLS")
async def test_the_cli_runs_its_tools_when_it_is_what_a_run_falls_back_to(serve: Serve) -> None:
    api = await serve(in_turn(calls(("Bash", {"command": "echo made"})), says("Done.")))
    unreachable = ScriptedClient(lambda _: NetworkError("Gone."))

    client = FallbackClient([unreachable, api.client()])
    result = await AgentExecutor(client).execute(agent(cli_tool("Bash")))

    assert (result.error, result.output) == (None, "Done.")
    [record] = result.tool_calls
    assert (record.outcome, record.result.rstrip()) == (ToolOutcome.FINISHED, "made")
    assert len(unreachable.requests) == 2
