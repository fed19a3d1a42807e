"""A campaign: a fleet of worker processes at work while its processes, its servers and its network fail."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from chaos.oracle import doubled, effects
from chaos.stores import PostgresStore
from chaos.survey import survey
from fleet.chaos_agents import RunLedgers
from fleet.chaos_watcher import Watcher
from fleet.network import Link, link_to_postgres, link_to_temporal, through
from fleet.processes import WorkerProcess
from maverick.exceptions import JournalError, MaverickError
from maverick.fleet import Fleet
from maverick.fleet.store import FleetState
from maverick.journal import RunStatus
from maverick.loop.entries import Resumed
from maverick.loop.result import ToolOutcome

AGENTS = Path(__file__).with_name("chaos_agents.py")
_KINDS = ("clerk", "clerk", "chief", "clerk", "petitioner")
_GRACE = 120.0
"""Seconds after the last fault by which every run has to have ended: a worker's heartbeats are the last resort."""
_BREAK = (3.0, 7.0)
"""Seconds that a worker is frozen or cut off: longer than it takes its peers to give it up."""

_RECOVERY = 4.0
"""Seconds after a fault in which what follows it is not put down to another one."""


@dataclass
class Place:
    """Where a worker runs: its links to the servers, and its process."""

    number: int
    database: Link
    temporal: Link
    start: Callable[[], WorkerProcess]
    worker: WorkerProcess
    whole: bool = True
    """Whether nothing ails it just now."""

    def clear(self) -> None:
        """Leave no process behind."""
        self.worker.thaw()
        self.worker.kill()


@dataclass
class Figures:
    """What a campaign did and saw."""

    faults: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    runs: int = 0
    seconds: float = 0.0
    taken_over: int = 0
    unknown: int = 0
    pauses: list[float] = field(default_factory=list)
    """From each kill to the next step of each run that the killed worker drove, in seconds."""
    disturbed: list[float] = field(default_factory=list)
    """The same where another fault came before the next step."""
    watched: int = 0

    def __str__(self) -> str:
        faults = ", ".join(f"{number} {name}" for name, number in sorted(self.faults.items()))
        return (
            f"{self.runs} runs in {self.seconds:.0f} s; {faults}; {self.taken_over} taken over, "
            f"{self.unknown} calls unknown, {self.watched} watched, {len(self.violations)} violations; next step after "
            f"a kill: {_spread(self.pauses)}; with another fault beside it: {_spread(self.disturbed)}"
        )


class Campaign:
    """A fleet under attack.

    Args:
        fleet: The fleet, by a connection that no fault concerns.
        temporal: The address of its Temporal server.
        url: The URL of its database.
        folder: Where the ledger and the workers' logs go.
        seed: What the faults are drawn with.
        pace: Seconds that the model, and a tool before and after it acts, takes.
    """

    def __init__(
        self, fleet: Fleet, temporal: str, url: str, folder: Path, *, seed: int = 0, pace: float = 0.05
    ) -> None:
        self.fleet = fleet
        self.figures = Figures()
        self.places: list[Place] = []
        self._temporal = temporal
        self._url = url
        self._folder = folder
        self._ledger = RunLedgers(folder / "ledger")
        self._environment = {"CHAOS_LEDGER": str(folder / "ledger"), "CHAOS_PACE": str(pace)}
        self._random = Random(seed)
        self._runs: list[str] = []
        self._watchers: list[tuple[Watcher, asyncio.Task[None]]] = []
        self._killed: list[tuple[float, list[str]]] = []
        self._ailing: list[tuple[float, float]] = []
        """From when to when each fault lasted."""
        self._began = time.monotonic()
        (folder / "ledger").mkdir()

    # The fleet --------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def workers(self, number: int) -> AsyncIterator[None]:
        """So many workers, each behind links of its own, and a person who approves of everything."""
        async with AsyncExitStack() as stack:
            for index in range(number):
                database = await stack.enter_async_context(link_to_postgres(self._url).listening())
                temporal = await stack.enter_async_context(link_to_temporal(self._temporal).listening())
                start = self._starter(index, database, temporal)
                self.places.append(Place(index, database, temporal, start, start()))
                stack.callback(self.places[-1].clear)
            async with asyncio.TaskGroup() as tasks:
                besides = [tasks.create_task(self._approve()), tasks.create_task(self._supervise())]
                await self.ready(number)
                yield
                for task in besides:
                    task.cancel()

    def _starter(self, index: int, database: Link, temporal: Link) -> Callable[[], WorkerProcess]:
        return lambda: WorkerProcess(
            AGENTS,
            f"127.0.0.1:{temporal.port}",
            through(database, self._url),
            log=self._folder / f"worker-{index}.log",
            queue=self.fleet.queue,
            max_runs=1000,
            environment=self._environment,
        )

    def worker(self, name: str, version: str) -> WorkerProcess:
        """A worker whose agents have the prompts of a version."""
        return WorkerProcess(
            AGENTS,
            self._temporal,
            self._url,
            log=self._folder / f"{name}.log",
            queue=self.fleet.queue,
            environment=self._environment | {"CHAOS_VERSION": version},
        )

    async def start(self, runs: int, turns: int, kinds: Sequence[str] = _KINDS) -> list[str]:
        """Start runs of these kinds in turn; returns their ids."""
        await PostgresStore(self._url).prepare()
        for number in range(len(self._runs), len(self._runs) + runs):
            run_id, agent = f"run-{number}", kinds[number % len(kinds)]
            await self.fleet.start(
                agent, inputs={"task": f"{number}-{turns}"}, user_id=f"user-{number % 7}", run_id=run_id
            )
            self._runs.append(run_id)
        return self._runs[-runs:]

    def watch(self, every: int) -> None:
        """Watch every so manyth run."""
        for run_id in self._runs[::every]:
            watcher = Watcher(self.fleet, run_id, self._random)
            self._watchers.append((watcher, asyncio.create_task(watcher.watch())))

    async def progress(self, steps: int) -> None:
        """Wait until the runs have written so many more entries together."""
        steps += await self._written()
        while await self._written() < steps:  # noqa: ASYNC110 - by other processes
            await asyncio.sleep(0.1)

    async def taken_over(self) -> None:
        """Wait until the runs of the worker that was killed last have taken their next step elsewhere."""
        at, driven = self._killed[-1]
        async with asyncio.timeout(_GRACE):
            for run_id in driven:
                # One that wrote its last entry just before the kill takes no other.
                while (await self._times(run_id))[-1] < at and not await self._has_ended(run_id):  # noqa: ASYNC110 - by others
                    await asyncio.sleep(0.1)

    async def end(self, patience: float = _GRACE) -> None:
        """Wait until all runs have ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while await self.unfinished():  # noqa: ASYNC110 - by other processes
                    await asyncio.sleep(0.2)

    async def ready(self, number: int) -> None:
        """Wait until so many workers take runs."""
        async with asyncio.timeout(_GRACE):
            while len(await self._registered()) < number:  # noqa: ASYNC110 - by other processes
                await asyncio.sleep(0.1)

    async def _registered(self) -> list[Place]:
        names = [row["worker"] for row in await self._fetch("SELECT worker FROM maverick.fleet_workers")]
        return [place for place in self.places if any(f"-{place.worker.pid}-" in name for name in names)]

    async def _supervise(self) -> None:
        """Start workers again that have ended by themselves, as they do when they find no server."""
        while True:
            for place in self.places:
                if place.worker.process.poll() is not None:
                    place.worker = place.start()
                    self.figures.faults["workers that found no server"] += 1
            await asyncio.sleep(0.5)

    async def _approve(self) -> None:
        while True:
            with suppress(MaverickError):  # another look will do
                for asked in await self.fleet.journal.list_approvals():
                    await self.fleet.run(asked.run_id).approve(asked.approval_id, by=asked.user_id or "")
            await asyncio.sleep(0.3)

    async def _written(self) -> int:
        (found,) = await self._fetch("SELECT count(*) AS entries FROM maverick.entries")
        return int(found["entries"])

    async def unfinished(self) -> int:
        """How many runs have not ended."""
        (found,) = await self._fetch(
            "SELECT count(*) AS runs FROM maverick.fleet_runs WHERE state <> 'ended'"
        )
        return int(found["runs"])

    async def _has_ended(self, run_id: str) -> bool:
        return bool(
            await self._fetch(
                "SELECT 1 FROM maverick.fleet_runs WHERE run_id = $1 AND state = 'ended'", run_id
            )
        )

    async def _driven_by(self, pid: int) -> list[str]:
        found = await self._fetch("SELECT run_id FROM maverick.fleet_runs WHERE worker LIKE $1", f"%-{pid}-%")
        return [row["run_id"] for row in found]

    async def _fetch(self, statement: str, *values: Any) -> list[Any]:
        """The rows of a statement, also when Postgres has just ended our connections."""
        for _ in range(3):
            with suppress(JournalError):
                return list(await self.fleet.journal.database.fetch(statement, *values))
        return list(await self.fleet.journal.database.fetch(statement, *values))

    # Faults -----------------------------------------------------------------------------------------------------

    async def busiest(self) -> Place:
        """The place of the worker that drives the most runs."""
        driven = [len(await self._driven_by(place.worker.pid)) for place in self.places]
        return self.places[driven.index(max(driven))]

    async def kill(self, place: Place) -> None:
        """Kill a worker, and start another in its place."""
        driven = await self._driven_by(place.worker.pid)
        place.worker.kill()
        self._killed.append((time.time(), driven))
        self._ailing.append((time.time(), time.time() + _RECOVERY))
        self.figures.faults["kills"] += 1
        place.worker = place.start()

    async def freeze(self, place: Place) -> None:
        """Freeze a worker until its peers have given it up, and let it go on as a zombie."""
        place.worker.freeze()
        self.figures.faults["freezes"] += 1
        await self._pause(place)
        place.worker.thaw()

    async def cut_from_database(self, place: Place) -> None:
        """Cut a worker off from Postgres for a while; what it had sent arrives late."""
        place.database.cut()
        self.figures.faults["cuts from Postgres"] += 1
        await self._pause(place)
        place.database.mend()

    async def cut_from_temporal(self, place: Place) -> None:
        """Cut a worker off from Temporal for a while; what it had sent arrives late."""
        place.temporal.cut()
        self.figures.faults["cuts from Temporal"] += 1
        await self._pause(place)
        place.temporal.mend()

    async def end_connections(self) -> None:
        """Have Postgres end every connection, ours as well."""
        self.figures.faults["times all connections ended"] += 1
        self._ailing.append((time.time(), time.time() + _RECOVERY))
        with suppress(MaverickError):
            await self._fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    async def restart(self, restart: Callable[[], None]) -> None:
        """Stop the Temporal server and start it again on its database file."""
        self.figures.faults["restarts of Temporal"] += 1
        began = time.time()
        self._ailing.append((began, began + _GRACE))
        await asyncio.to_thread(restart)
        self._ailing[self._ailing.index((began, began + _GRACE))] = (began, time.time() + _RECOVERY)

    async def rage(self, faults: int, restart: Callable[[], None]) -> None:
        """Have so many faults happen, one every few seconds: mostly kills, and each other kind again and again."""
        others = [
            self.freeze,
            self.cut_from_database,
            self.kill,
            lambda _: self.restart(restart),
            self.cut_from_temporal,
            self.kill,
            lambda _: self.end_connections(),
        ]
        async with asyncio.TaskGroup() as tasks:
            for number in range(faults):
                if not await self.unfinished():
                    return
                fault = self.kill if number % 2 == 0 else others[number // 2 % len(others)]
                await self.ready(2)  # a fleet with nobody in it has no one to take over
                place = self._random.choice([place for place in await self._registered() if place.whole])
                tasks.create_task(fault(place))
                await asyncio.sleep(self._random.uniform(3, 6))

    async def _pause(self, place: Place) -> None:
        place.whole = False
        seconds = self._random.uniform(*_BREAK)
        self._ailing.append((time.time(), time.time() + seconds + _RECOVERY))
        await asyncio.sleep(seconds)
        place.whole = True

    # The verdict ------------------------------------------------------------------------------------------------

    async def judge(self, every: int = 1) -> Figures:
        """What came of it: every run, or every so manyth, is looked at in the journal and in the ledger."""
        figures = self.figures
        figures.runs, figures.seconds = len(self._runs), time.monotonic() - self._began
        figures.violations += [
            f"P3 {deed.what} was sent this: {deed.item}"
            for deed in self._ledger.of("").deeds()
            if deed.kind == "invalid"
        ]
        written: dict[str, list[float]] = {}
        for run_id in self._runs[::every]:
            figures.violations += [f"{run_id}: {fault}" async for fault in self._faults(run_id)]
            written[run_id] = await self._times(run_id)
            resumed = [s async for s in self.fleet.journal.read(run_id) if isinstance(s.entry, Resumed)]
            figures.taken_over += len(resumed)
        for at, driven in self._killed:
            for run_id in driven:
                later = next((time for time in written[run_id] if time > at), None)
                if later is not None:
                    faults = sum(began < later and at < ended for began, ended in self._ailing)
                    (figures.pauses if faults == 1 else figures.disturbed).append(later - at)
        for watcher, watching in self._watchers:
            await asyncio.wait([watching], timeout=_GRACE)
            figures.violations += [fault async for fault in watcher.misheard(self.fleet.journal)]
            watching.result()
        figures.watched = len(self._watchers)
        return figures

    async def _faults(self, run_id: str) -> AsyncIterator[str]:
        record = await self.fleet.store.get(run_id)
        if record is None or record.state is not FleetState.ENDED or record.error:
            yield f"P1 the run is lost: {record}"
            return
        found = await self.fleet.journal.get(run_id)
        if found.status is not RunStatus.COMPLETE:
            yield f"P1 the run has ended as {found.status}: {found.reason}"
        journal = await survey(self.fleet.journal, run_id)
        deeds = self._ledger.of(run_id).deeds()
        bookings = await PostgresStore(self._url).bookings(run_id)
        for violation in (*doubled(deeds), *effects(deeds, bookings, journal)):
            yield violation
        for call in journal.calls:
            if not call.outcome:
                yield f"P3 {call.key} has no result"
        for fault in journal.faults:
            yield f"P3 {fault}"
        self.figures.unknown += sum(call.outcome == ToolOutcome.UNKNOWN for call in journal.calls)

    async def _times(self, run_id: str) -> list[float]:
        """When something was written of a run or its subagents', in order."""
        times = [stored.entry.at async for stored in self.fleet.journal.read(run_id)]
        for child in await self.fleet.journal.list_runs(parent=run_id):
            times += await self._times(child.run_id)
        return sorted(times)


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "none"
    ordered = sorted(values)
    return f"median {statistics.median(ordered):.1f} s, worst {ordered[-1]:.1f} s of {len(ordered)}"
