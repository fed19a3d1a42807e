"""``maverick runs approve``, ``deny`` and ``say``: what a person tells a run, from another process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from maverick.cli.exit_codes import SUCCESS
from maverick.cli.run.inputs import with_files
from maverick.cli.run_options import RunOptions
from maverick.cli.runs.console import Console, call_lines, deciding_user, pending_in
from maverick.cli.runs.in_fleet import state_in_fleet
from maverick.cli.settings import load_settings
from maverick.exceptions import AgentError, ApprovalError, ConfigError
from maverick.journal import Approval, Journal, RunStatus
from maverick.journal.approvals import decided_by_the_run


async def approve(
    console: Console,
    *,
    request_id: str,
    by: str | None,
    reason: str,
    arguments: dict[str, Any] | None,
    changed: Sequence[tuple[str, Any]],
    resume: bool,
    agents: str | None,
) -> int:
    """Agree to a tool call, or to the same with other arguments."""
    asked = await _request(console, request_id)
    if changed:
        arguments = {**(asked.arguments if arguments is None else arguments), **dict(changed)}
    decision = {"approved": True, "by": by or deciding_user(), "reason": reason, "arguments": arguments}
    return await _decide(console, asked, decision, agents, resume=resume)


async def deny(
    console: Console, *, request_id: str, by: str | None, reason: str, resume: bool, agents: str | None
) -> int:
    """Refuse a tool call."""
    asked = await _request(console, request_id)
    decision = {"approved": False, "by": by or deciding_user(), "reason": reason}
    return await _decide(console, asked, decision, agents, resume=resume)


async def say(console: Console, *, run_id: str, text: str, attach: Sequence[str], by: str | None) -> None:
    """Leave words for a run."""
    await console.journal.say(run_id, with_files(text, attach), by=by or deciding_user())
    record = await console.journal.get(run_id)
    if console.as_json:
        console.write(record)
    elif record.status is RunStatus.RUNNING:
        console.say([f"The run {run_id} hears it before its next turn."])
    else:
        console.say(
            [f"The run {run_id} hears it when it is resumed.", await _how_it_goes_on(console, run_id)]
        )


async def _request(console: Console, given: str) -> Approval:
    """The one request that is meant."""
    try:
        return await console.journal.get_approval(given)
    except ApprovalError:
        run = await console.journal.get(given)
    waiting = await pending_in(console.journal, run.run_id)
    if len(waiting) == 1:
        return waiting[0]
    if not waiting:
        raise ApprovalError(
            f"The run {given!r} waits for no decision. See where it stands: {console.command('show', given)}",
            approval_id=given,
        )
    names = ", ".join(approval.approval_id for approval in waiting)
    raise ApprovalError(
        f"The run {given!r} waits for {len(waiting)} decisions. Name one of them: {names}.", approval_id=given
    )


async def _decide(
    console: Console, asked: Approval, decision: Mapping[str, Any], agents: str | None, *, resume: bool
) -> int:
    root = await _outermost(console.journal, asked.run_id)
    goes_on = await state_in_fleet(console.journal, root) not in (None, "ended")
    is_checked = not goes_on and await _decide_here(console, asked, root, decision, agents)
    if not is_checked:  # whoever drives the run asks its executor's own rule, if it has one, who may decide
        await console.journal.decide(asked.approval_id, may_approve=decided_by_the_run, **decision)
    decided = await console.journal.get_approval(asked.approval_id)
    if console.as_json:
        console.write(decided)
    else:
        console.say(_decision_lines(decided))
        if asked.has_rule and not is_checked:
            who = decided.decided_by
            console.say([f"The agent says who may decide: if {who} may not decide, the run keeps waiting."])
        if goes_on or not resume:
            console.say([await _how_it_goes_on(console, root, agents)])
    if goes_on or not resume:
        return SUCCESS
    from maverick.cli.runs.resume import continue_run  # here, since deciding alone needs no agent

    return await continue_run(console, root, agents, RunOptions())


def _decision_lines(decided: Approval) -> Iterator[str]:
    """What was decided, and on which call."""
    verb = "approved" if decided.approved else "denied"
    edited = decided.edited_arguments
    other = "" if edited is None else " with other arguments"
    yield f"{decided.approval_id} ({decided.tool_name}) is {verb} by {decided.decided_by}{other}."
    yield from call_lines(decided.tool_name, decided.arguments if edited is None else edited)


async def _decide_here(
    console: Console, asked: Approval, root: str, decision: Mapping[str, Any], agents: str | None
) -> bool:
    """Decide as the run's own executor does, if there is something to check and the agent is here; returns whether it was."""
    if not asked.has_rule and decision.get("arguments") is None:
        return False
    from maverick.agents.running import agent_executor  # here, since most decisions need no agent
    from maverick.cli.runs.resume import agent_of

    record = await console.journal.get(root)
    try:
        config = load_settings(as_json=console.as_json, for_agents=True)
        found, definition = agent_of(record, agents, config)
    except (AgentError, ConfigError):
        return False
    given = {name: value for name, value in decision.items() if name != "approved"}
    async with agent_executor(found, config, console.journal, user_id=record.user_id) as executor:
        decide = executor.approve if decision["approved"] else executor.deny
        await decide(asked.approval_id, definition=definition, **given)
    return True


async def _how_it_goes_on(console: Console, run_id: str, agents: str | None = None) -> str:
    root = await _outermost(console.journal, run_id)
    if await state_in_fleet(console.journal, root) not in (None, "ended"):
        return f"It continues in the fleet. Follow it with: {console.command('tail', root, '--follow')}"
    return f"Resume with: {console.command('resume', root, *RunOptions().words(agents))}"


async def _outermost(journal: Journal, run_id: str) -> str:
    """The run that a subagent's run is part of; only that one is resumed."""
    record = await journal.get(run_id)
    return run_id if record.parent is None else await _outermost(journal, record.parent)
