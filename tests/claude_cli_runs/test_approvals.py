"""A person's approval of what the CLI wants to do, asked for and kept as for any other tool."""

from __future__ import annotations

from typing import Any

import pytest

from claude_cli_runs.scripted_api import Body, Serve, calls, conversation, in_turn, ours, says
from maverick import AgentExecutor, ApprovalRequest, TerminateReason, tool
from maverick.journal import Journal
from maverick.loop.policy import PolicyDecision, Verdict
from maverick.loop.result import ToolOutcome
from maverick.model import Tool, ToolCall
from maverick.providers.claude_cli import cli_tool
from scenario import agent

NOTE = ("Bash", {"command": "echo done >> note.txt; cat note.txt"})


class NoDeleting:
    """A policy."""

    def decide(self, call: ToolCall, tool: Tool) -> PolicyDecision:
        deletes = "rm " in call.arguments["command"]
        return (
            PolicyDecision(Verdict.DENY, "nothing is deleted here.")
            if deletes
            else PolicyDecision(Verdict.ALLOW)
        )


@pytest.mark.requirement("005-RUN-APPROVALS", "F-APPROVAL", "P3")
async def test_a_policy_and_a_person_rule_on_each_call_while_the_cli_waits(serve: Serve) -> None:
    wanted = [("Bash", {"command": command}) for command in ("rm -r .", "touch other.txt")]
    api = await serve(in_turn(calls(*wanted, NOTE), says("Well.")))
    asked: list[ApprovalRequest] = []

    async def approve(call: ApprovalRequest) -> bool:
        asked.append(call)
        assert not list(api.work.iterdir())
        return call.arguments == NOTE[1]

    executor = AgentExecutor(api.client(), approve=approve, permissions=NoDeleting())
    result = await executor.execute(agent(cli_tool("Bash", approval=True)))

    told = [record.result for record in result.tool_calls]
    assert "nothing is deleted here" in told[0]
    assert told[1:] == ["Not run: denied by the user.", "done"]
    assert len(asked) == 2
    assert [path.name for path in api.work.iterdir()] == ["note.txt"]
    assert conversation(api.bodies[1])[-1] == ("user", told)


@pytest.mark.requirement("005-RUN-APPROVALS", "P7")
async def test_a_run_that_nobody_can_be_asked_for_parks_and_goes_on_when_somebody_has_decided(
    serve: Serve, journal: Journal
) -> None:
    sent: list[str] = []

    @tool(approval=True)
    async def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        return f"sent to {to}"

    wanted = calls(NOTE, ("Bash", {"command": "touch other.txt"}), (ours("send"), {"to": "bo"}))
    api = await serve(in_turn(wanted, says("Noted.")))
    worker = agent(cli_tool("Bash", approval=True), send)
    parked = await AgentExecutor(api.client(), journal=journal).execute(worker, run_id="r")

    assert parked.terminate_reason is TerminateReason.AWAITING_APPROVAL
    assert (sent, list(api.work.iterdir())) == ([], [])
    await journal.approve("r:1:0", by="ana")
    await journal.deny("r:1:1", by="ana", reason="Once is enough.")
    await journal.approve("r:1:2", by="ana")
    result = await AgentExecutor(api.client(), journal=journal).resume("r", worker)

    told = ["done", "Not run: denied by ana. Once is enough.", "sent to bo"]
    assert result.output == "Noted."
    assert [path.name for path in api.work.iterdir()] == ["note.txt"]
    assert (api.work / "note.txt").read_text() == "done\n"
    assert [record.result for record in result.tool_calls] == told
    assert conversation(api.bodies[1])[2] == ("user", told)
    assert (sent, len(api.bodies)) == (["bo"], 2)


@pytest.mark.requirement("005-RUN-APPROVALS")
@pytest.mark.parametrize("approval", [True, False])
async def test_what_the_cli_takes_for_dangerous_needs_a_person(serve: Serve, approval: bool) -> None:
    def model(body: Body, number: int) -> Any:
        settings = api.work / ".claude" / "settings.json"
        return calls(("Write", {"file_path": str(settings), "content": "{}"})) if number == 1 else says("So.")

    async def approve(call: ApprovalRequest) -> bool:
        return True

    api = await serve(model)
    executor = AgentExecutor(api.client(), approve=approve)
    result = await executor.execute(agent(cli_tool("Write", approval=approval)))

    assert (api.work / ".claude" / "settings.json").exists() is approval
    assert result.tool_calls[0].outcome is (ToolOutcome.FINISHED if approval else ToolOutcome.FAILED)
    if not approval:
        assert "considers this call dangerous" in result.tool_calls[0].result
