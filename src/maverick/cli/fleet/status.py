"""``maverick fleet``: the workers and the runs of a fleet, and runs that Temporal has lost."""

from __future__ import annotations

import argparse
import time

from maverick.cli.fleet.connection import with_fleet
from maverick.cli.formatting import Column, age, counted
from maverick.cli.runs.console import Console
from maverick.fleet import Fleet
from maverick.fleet.schedules import Schedules
from maverick.fleet.status import Overview, fleet_overview

_WORKERS = (
    Column("WORKER", shrinks=True),
    Column("VERSION"),
    Column("RUNS", right=True),
    Column("UP", right=True),
    Column("AGENTS", shrinks=True),
)
_RUNS = (
    Column("RUN"),
    Column("AGENT", shrinks=True),
    Column("USER", shrinks=True),
    Column("STATE"),
    Column("AGE", right=True),
    Column("WHERE", shrinks=True),
)


def show_status(options: argparse.Namespace) -> int:
    """Show the workers and the newest runs that have not ended."""

    async def show(fleet: Fleet, console: Console) -> None:
        found = await fleet_overview(fleet, options.limit)
        if console.as_json:
            console.write(found)
        else:
            _show(console, found)

    return with_fleet(options, show)


def adopt_runs(options: argparse.Namespace) -> int:
    """Give each run and each schedule that Temporal has lost back to it."""

    async def adopt(fleet: Fleet, console: Console) -> None:
        adopted = await fleet.adopt()
        await Schedules(fleet).restore()
        if console.as_json:
            console.write(adopted)
        else:
            console.say([f"{counted(len(adopted), 'run')} given back to Temporal.", *adopted])

    return with_fleet(options, adopt)


def _show(console: Console, found: Overview) -> None:
    now = time.time()
    if found.workers:
        rows = [
            (
                worker.name,
                worker.version,
                f"{worker.runs}/{worker.capacity}",
                age(now - worker.began_at),
                ", ".join(worker.agents),
            )
            for worker in found.workers
        ]
        console.tabulate(_WORKERS, rows)
    else:
        console.say(["No worker is running. Start one with: maverick worker"])
    states = ", ".join(f"{count:,} {state}" for state, count in found.states.items())
    console.say(["", f"Runs: {states or 'none'}"])
    if found.runs:
        runs = [
            (
                run.run_id,
                run.agent,
                run.user_id or "",
                run.state.value,
                age(now - run.created_at),
                f"on {run.worker}" if run.worker else f"waits for {run.waits_for or 'a worker'}",
            )
            for run in found.runs
        ]
        console.tabulate(_RUNS, runs)
