"""Runs in a fleet beside the plain executor on the same journal, and beside a bare Temporal workflow."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from temporalio import activity, workflow
from temporalio.worker import Worker as TemporalWorker

from benchmarks.figure import Figure, Target
from benchmarks.prepared import DONE
from maverick import AgentDefinition, AgentExecutor, RunConfig, ToolConfig, tool
from maverick.fleet import Fleet
from maverick.fleet.driving import Offer
from maverick.fleet.worker import Worker
from maverick.journal import PostgresJournal
from maverick.model import Request, Response, StreamItem, ToolCall, Usage
from postgres import fresh_database, running_server
from temporal import running_server as running_temporal

_RUNS = 24
_TURNS = 400
_LATENCY = 0.02
"""Seconds that an answer takes, on average."""
_SHORT_RUNS = 200
_PROCESSES = (1, 2, 4)
_LONG = 1000


@tool(effect="keyed")
async def count(number: int) -> str:
    """Count one further."""
    return str(number + 1)


class CountingClient:
    """Calls the tool once a turn; the prompt says after how many turns the run ends. Any number of runs may share it.

    Its answers take a while, each another: runs that all began at the same moment would otherwise write at the same
    moments, too, and share their commits as they never do.
    """

    def __init__(self) -> None:
        self.used: list[float] = []
        """The CPU seconds of the process at each answer."""

    async def run(self, request: Request) -> Response:
        await asyncio.sleep(random.uniform(0, 2 * _LATENCY))  # noqa: S311 - not a secret
        self.used.append(time.process_time())
        turn = len(request.messages) // 2 + 1  # the prompt, then a call and its result each turn
        if turn >= int(request.messages[0].content):
            return DONE
        return Response("", [ToolCall(f"call_{turn}", "count", {"number": turn})], Usage(100, 20))

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        yield await self.run(request)


COUNTER: AgentDefinition[str] = AgentDefinition(
    name="counter",
    description="Counts.",
    tool_config=ToolConfig(tools=[count]),
    run_config=RunConfig(max_turns=2 * _LONG, max_tool_calls=2 * _LONG),
)


class Cost(NamedTuple):
    """What runs took."""

    seconds: float
    turn: float
    """CPU seconds of a turn, while all runs are in the middle."""
    run: float
    """CPU seconds of a run beside its turns: its beginning and its end, and what a process does meanwhile."""

    @classmethod
    def of(cls, seconds: float, runs: int, used: Sequence[Sequence[float]]) -> Cost:
        """Of the seconds that runs took, and of what each process had used before them, at each answer and after them."""
        middle = [at[len(at) // 10 : -len(at) // 10] for at in used]
        turn = sum(at[-1] - at[0] for at in middle) / sum(len(at) - 1 for at in middle)
        turns = sum(len(at) - 2 for at in used)
        return cls(seconds, turn, (sum(at[-1] - at[0] for at in used) - turn * turns) / runs)


def measure(rounds: int) -> Iterator[Figure]:
    with running_server() as postgres, running_temporal() as (temporal, _):
        yield from asyncio.run(_measure(min(rounds, 3), postgres, temporal))


async def _measure(rounds: int, postgres: str, temporal: str) -> Sequence[Figure]:
    figures: list[Figure] = []
    turns = _RUNS * _TURNS
    for processes in _PROCESSES:
        direct: list[Cost] = []
        driven: list[Cost] = []
        for _ in range(rounds):  # side by side, since a machine is not as fast all the time
            direct.append(await _directly(postgres, processes))
            driven.append(await _by_workers(postgres, temporal, processes, _RUNS, _TURNS))
        ratio = median(cost.turn / alone.turn for cost, alone in zip(driven, direct, strict=True))
        for name, costs in (
            (f"executors alone: {processes}", direct),
            (f"workers of a fleet: {processes}", driven),
        ):
            figures.append(Figure(name, turns / median(c.seconds for c in costs), "turns/s"))
            figures.append(Figure("the same, CPU a turn", median(c.turn for c in costs) * 1e6, "µs"))
            figures.append(
                Figure("the same, CPU a run beside its turns", median(c.run for c in costs) * 1e3, "ms")
            )
        # Processes that share a journal share the machine's caches, and the commits of fewer runs each.
        figures.append(Figure("the same, CPU a turn against executors alone", ratio, "×", Target(1.15)))
    bare = median([await _bare_workflows(temporal) for _ in range(rounds)])
    short = median(
        [(await _by_workers(postgres, temporal, 1, _SHORT_RUNS, 1)).seconds for _ in range(rounds)]
    )
    figures.append(Figure("a bare workflow with one activity", _SHORT_RUNS / bare, "runs/s"))
    figures.append(Figure("a run of one turn in a fleet", _SHORT_RUNS / short, "runs/s"))
    events, size = await _history(postgres, temporal)
    figures.append(Figure(f"history of a run of {_LONG} turns", size, "bytes", Target(2048)))
    figures.append(Figure("the same, events", events, "", Target(20)))
    return figures


# The executor alone -------------------------------------------------------------------------------------------------


async def _directly(postgres: str, processes: int) -> Cost:
    """What all runs take, divided among processes."""
    async with fresh_database(postgres) as url:
        with ExitStack() as stack:
            made = [
                stack.enter_context(_process(_execute, url, str(_RUNS // processes)))
                for _ in range(processes)
            ]
            took = await asyncio.gather(*(asyncio.to_thread(_ask, pipe, "go") for pipe, _ in made))
            return Cost.of(max(seconds for seconds, _ in took), _RUNS, [used for _, used in took])


def _execute(pipe: Connection, url: str, runs: str) -> None:
    asyncio.run(_execute_all(pipe, url, int(runs)))


async def _execute_all(pipe: Connection, url: str, runs: int) -> None:
    async with PostgresJournal(url) as journal:
        client = CountingClient()
        executor = AgentExecutor(client, journal=journal)
        await executor.execute(COUNTER, inputs={"prompt": "2"})  # connects, and makes the tables
        pipe.send("ready")
        pipe.recv()
        began, client.used = time.perf_counter(), [time.process_time()]
        await asyncio.gather(
            *(executor.execute(COUNTER, inputs={"prompt": str(_TURNS)}) for _ in range(runs))
        )
        pipe.send((time.perf_counter() - began, [*client.used, time.process_time()]))


# Workers ------------------------------------------------------------------------------------------------------------


async def _by_workers(postgres: str, temporal: str, workers: int, runs: int, turns: int) -> Cost:
    """What runs take in a fleet, and its workers for them."""
    async with AsyncExitStack() as stack:
        fleet, pipes = await _fleet(stack, postgres, temporal, workers)
        await fleet.start("counter", inputs={"prompt": "2"})
        await _all_ended(fleet, 1)
        for pipe in pipes:
            await asyncio.to_thread(_ask, pipe, "begin")
        began = time.perf_counter()
        started = await asyncio.gather(
            *(fleet.start("counter", inputs={"prompt": str(turns)}) for _ in range(runs))
        )
        await _all_ended(fleet, len(started) + 1)
        took = time.perf_counter() - began
        used = [await asyncio.to_thread(_ask, pipe, "end") for pipe in pipes]
        return Cost.of(took, runs, used)


async def _history(postgres: str, temporal: str) -> tuple[int, int]:
    """The events and the bytes that Temporal keeps of a long run."""
    async with AsyncExitStack() as stack:
        fleet, _ = await _fleet(stack, postgres, temporal, 1)
        run = await fleet.start("counter", inputs={"prompt": str(_LONG)})
        handle = fleet.temporal.get_workflow_handle(run.run_id)
        await handle.result()
        history = await handle.fetch_history()
        return len(history.events), sum(event.ByteSize() for event in history.events)


async def _fleet(
    stack: AsyncExitStack, postgres: str, temporal: str, workers: int
) -> tuple[Fleet, Sequence[Connection]]:
    url = await stack.enter_async_context(fresh_database(postgres))
    queue = f"bench-{uuid.uuid4().hex[:8]}"
    fleet = await stack.enter_async_context(
        await Fleet.connect(temporal=temporal, journal=PostgresJournal(url), queue=queue)
    )
    processes = [stack.enter_context(_process(_work, url, temporal, queue)) for _ in range(workers)]
    return fleet, [pipe for pipe, _ in processes]


def _work(pipe: Connection, url: str, temporal: str, queue: str) -> None:
    asyncio.run(_drive_runs(pipe, url, temporal, queue))


async def _drive_runs(pipe: Connection, url: str, temporal: str, queue: str) -> None:
    fleet = await Fleet.connect(temporal=temporal, journal=PostgresJournal(url), queue=queue)
    client = CountingClient()
    executor = AgentExecutor(client, journal=fleet.journal)

    @asynccontextmanager
    async def shared(user_id: str | None) -> AsyncIterator[AgentExecutor]:  # noqa: ARG001 - one for all users
        yield executor

    worker = asyncio.create_task(Worker(fleet, {"counter": Offer(COUNTER, shared)}, max_runs=200).run())
    pipe.send("ready")
    while (word := await asyncio.to_thread(pipe.recv)) != "stop":
        if word == "begin":
            client.used.clear()
        client.used.append(time.process_time())
        pipe.send(client.used)
    worker.cancel()
    await asyncio.wait([worker])


async def _all_ended(fleet: Fleet, runs: int) -> None:
    """Wait until all runs have ended, with a question to the database every now and then."""
    statement = "SELECT count(*) AS ended FROM maverick.fleet_runs WHERE state = 'ended'"
    while (await fleet.journal.database.fetch(statement))[0]["ended"] < runs:  # noqa: ASYNC110 - other processes end them
        await asyncio.sleep(0.02)


# A bare workflow ----------------------------------------------------------------------------------------------------


@activity.defn
async def nothing() -> str:
    return "done"


@workflow.defn(sandboxed=False)
class Bare:
    @workflow.run
    async def run(self) -> str:
        return await workflow.execute_activity(nothing, start_to_close_timeout=timedelta(seconds=60))


async def _bare_workflows(temporal: str) -> float:
    """The seconds of as many workflows with one activity each, in one process."""
    from temporalio.client import Client

    client = await Client.connect(temporal)
    queue = f"bare-{uuid.uuid4().hex[:8]}"
    async with TemporalWorker(client, task_queue=queue, workflows=[Bare], activities=[nothing]):
        await client.execute_workflow(Bare.run, id=f"{queue}-warm", task_queue=queue)
        began = time.perf_counter()
        await asyncio.gather(
            *(
                client.execute_workflow(Bare.run, id=f"{queue}-{number}", task_queue=queue)
                for number in range(_SHORT_RUNS)
            )
        )
        return time.perf_counter() - began


# Processes ----------------------------------------------------------------------------------------------------------


@contextmanager
def _process(target: Any, *arguments: str) -> Iterator[tuple[Connection, int]]:  # noqa: ANN401 - a function of this module
    """A process of its own, once it says that it is ready; told to stop at the end."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    try:
        ours.recv()
        yield ours, process.pid or 0
    finally:
        with ExitStack() as stack:
            stack.callback(process.join)
            stack.callback(process.terminate)
            if process.is_alive():
                ours.send("stop")
                process.join(10)


def _ask(pipe: Connection, word: str) -> Any:  # noqa: ANN401 - whatever the process answers
    pipe.send(word)
    return pipe.recv()
