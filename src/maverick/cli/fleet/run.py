"""``maverick run AGENT --on temporal://…``: starts a run in a fleet and watches it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

from maverick.agents.discovery import GENERAL
from maverick.cli.agent_lookup import look_up, named_file
from maverick.cli.exit_codes import SIGNALLED, WAITING
from maverick.cli.fleet.connection import open_fleet
from maverick.cli.run.inputs import PROMPT, gather_inputs
from maverick.cli.run_options import RunOptions, refuse_in_fleet
from maverick.cli.run_printer import RunPrinter, watch
from maverick.cli.runs.console import Console, deciding_user, pending_in, pending_lines
from maverick.cli.screen import Screen
from maverick.cli.stop_signals import on_ctrl_c
from maverick.cli.terminal_run import terminal_approver
from maverick.config import MaverickConfig
from maverick.exceptions import AgentError, InvalidInputError
from maverick.fleet import Fleet, FleetRun
from maverick.fleet.request import DEFAULT_PRIORITY
from maverick.journal import RunStatus
from maverick.loop import AgentResult, RunConfig
from maverick.loop.events import AgentActivityEvent, ApprovalRequested, RunEnd
from maverick.runtime import AbortSignal
from maverick.runtime.approver import ApprovalRequest, Approver, ask
from maverick.runtime.event_log import Listener

HERE = "fleet"
"""What stands for the fleet in the settings, in place of an address."""
_LOOKS = 1.0
"""Seconds without an event after which the user is told what the run waits for."""
_PRESS_AGAIN = 3.0
"""Seconds in which another Ctrl-C stops the run."""


def run_in_fleet(options: argparse.Namespace, config: MaverickConfig) -> int:
    """Start a run in a fleet, and show it until it ends."""
    unkept = [] if options.kept else ["--no-journal"]
    refuse_in_fleet([*RunOptions.from_options(vars(options)).words(), *unkept])
    return asyncio.run(_run(options, config, *remote_agent(options, config)))


def remote_agent(options: argparse.Namespace, config: MaverickConfig) -> tuple[str, dict[str, Any]]:
    """The name of the agent that is meant, and the values of its inputs.

    The agent may be known to the workers alone: then its inputs are texts, which the workers check.
    """
    agent, found = options.agent or GENERAL.name, None
    try:
        found = look_up(agent, config)
    except AgentError:
        if named_file(agent):
            raise
    declared, piped = (
        (None, PROMPT) if found is None else (found.inputs, getattr(found.agent, "piped", PROMPT))
    )
    attached = vars(options).get("attach", ())
    inputs = gather_inputs(declared, options.inputs, options.prompt, Screen.of_process(), piped, attached)
    return agent if found is None else found.name, inputs


async def _run(
    options: argparse.Namespace, config: MaverickConfig, agent: str, inputs: dict[str, Any]
) -> int:
    temporal = None if options.on == HERE else options.on
    option = "--on temporal://host:port"
    async with await open_fleet(config, temporal, options.journal, option=option) as fleet:
        run = await fleet.start(
            agent,
            inputs=inputs,
            run_id=options.run_id,
            user_id=options.user,
            priority=options.priority or DEFAULT_PRIORITY,
        )
        console = Console(fleet.journal, Screen.of_process(), options.as_json, options.journal)
        try:
            return await watch_in_fleet(console, fleet, run, streams=sys.stdout.isatty())
        except InvalidInputError as error:
            problem, is_about_inputs, _ = str(error).partition(" Pass inputs=")
            if not is_about_inputs:
                raise
            # The agent is known to the workers alone; what they say is for those who write Python.
            raise InvalidInputError(
                f'{agent}: {problem} Add -p "…" or -i NAME=VALUE.', field="inputs"
            ) from error


class _LeftError(Exception):
    """The run is no longer watched, and continues."""

    def __init__(self, *lines: str, code: int | None = None) -> None:
        super().__init__()
        self.lines = lines
        self.code = code


async def watch_in_fleet(
    console: Console, fleet: Fleet, run: FleetRun, *, after: str = "", streams: bool = True
) -> int:
    """Show a run until it ends or waits for a person who is not here; returns the exit code.

    Ctrl-C stops watching; a second one soon after stops the run. ``after`` is the cursor of the events that were shown
    already, and ``streams`` whether the answer is shown while it is made.
    """
    printer = RunPrinter(console, RunOptions(), None, RunConfig(), run.run_id, streams=streams)
    approve = terminal_approver(printer, None)
    try:
        result = await watch(printer, partial(_until_end, printer, fleet, run, after, approve))
    except _LeftError as left:
        console.screen.end_line()
        for line in left.lines if not console.as_json else ():
            console.screen.remark(line)
        return left.code if left.code is not None else SIGNALLED + printer.signals[0]
    return await printer.conclude(result)


async def _until_end(
    printer: RunPrinter,
    fleet: Fleet,
    run: FleetRun,
    after: str,
    approve: Approver | None,
    stop: AbortSignal,
    listen: Listener,
) -> AgentResult[Any]:
    """Tell a listener what happens until the run has its result."""
    showing = asyncio.ensure_future(_show(printer, fleet, run, after, approve, listen))
    stopped = asyncio.Event()
    unsubscribe = stop.subscribe(stopped.set)
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait([showing, stopping], return_when=asyncio.FIRST_COMPLETED)
        if not showing.done():
            await _part(printer, run)
        return await showing
    finally:
        unsubscribe()
        showing.cancel()
        stopping.cancel()
        await asyncio.wait([showing, stopping])


async def _part(printer: RunPrinter, run: FleetRun) -> None:
    """Leave the run to the fleet, or stop it if the user presses Ctrl-C once more."""
    again = asyncio.Event()
    follow = printer.console.command("tail", run.run_id, "--follow")

    with on_ctrl_c(partial(asyncio.get_running_loop().call_soon_threadsafe, again.set)):
        if not printer.console.as_json:
            printer.console.screen.end_line()
            printer.console.screen.remark(
                f"{run.run_id} continues in the fleet. Press Ctrl-C again to stop it."
            )
        try:
            await asyncio.wait_for(again.wait(), _PRESS_AGAIN)
        except TimeoutError:
            raise _LeftError(f"Follow it with: {follow}") from None
    await run.abort("stopped with Ctrl-C")


async def _show(
    printer: RunPrinter, fleet: Fleet, run: FleetRun, after: str, approve: Approver | None, listen: Listener
) -> AgentResult[Any]:
    stream = aiter(run.events(after=after))
    asked, waits_for, result = False, "", None
    coming = asyncio.ensure_future(_next(stream))
    try:
        while True:
            if (await asyncio.wait([coming], timeout=_LOOKS))[0]:
                if (event := coming.result()) is None:
                    break
                listen(event)
                asked = asked or isinstance(event, ApprovalRequested)
                if isinstance(event, RunEnd) and event.run_id == run.run_id:
                    result = event.result
                coming = asyncio.ensure_future(_next(stream))
            elif asked:
                asked = await _is_undecided(printer, fleet, run, approve)
            elif (record := await fleet.store.get(run.run_id)) is not None and record.waits_for != waits_for:
                waits_for = record.waits_for
                if waits_for and not printer.console.as_json:
                    printer.console.screen.remark(f"({run.run_id} waits for {waits_for})")
    finally:
        coming.cancel()
        await asyncio.wait([coming])
        await stream.aclose()
    assert result is not None  # noqa: S101 - the last event of a run is its end
    return result


async def _next(stream: AsyncGenerator[AgentActivityEvent, None]) -> AgentActivityEvent | None:
    return await anext(stream, None)


async def _is_undecided(printer: RunPrinter, fleet: Fleet, run: FleetRun, approve: Approver | None) -> bool:
    """Have the user decide on the calls that the run waits with; says whether it does not wait yet."""
    if (await fleet.journal.get(run.run_id)).status is not RunStatus.WAITING:
        return True
    pending = await pending_in(fleet.journal, run.run_id)
    if approve is None:
        lines = pending_lines(printer.console, pending)
        raise _LeftError(*lines, "The run continues by itself once that is decided.", code=WAITING)
    for asked in pending:
        request = ApprovalRequest(
            tool_name=asked.tool_name,
            arguments=asked.arguments,
            reason=asked.question,
            run_id=asked.run_id,
            user_id=asked.user_id,
            approval_id=asked.approval_id,
        )
        answer, by = await ask(approve, request), deciding_user()
        if answer.approved:
            await run.approve(asked.approval_id, by=by, arguments=answer.arguments)
        else:
            await run.deny(asked.approval_id, by=by, reason=answer.reason)
    return False
