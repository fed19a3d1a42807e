"""The pure loop alone: a turn without any driver."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.figure import Figure
from benchmarks.prepared import ADDER, add, prepared_calls
from benchmarks.stopwatch import median_of
from maverick.loop import AgentLoop, ToolOutcome
from maverick.loop.entries import ModelCalled, ModelReplied, RunStarted, ToolFinished, ToolsStarted
from maverick.model import ModelInfo

_TURNS = 5_000
_RESPONSES = prepared_calls(_TURNS)


def _simulate() -> float:
    loop = AgentLoop(ADDER, {add.name: add})
    system, messages = ADDER.render({"prompt": "Add."})
    began = time.process_time()
    loop.feed(
        RunStarted(
            at=0.0,
            run_id="run",
            trace_id="trace",
            agent=(ADDER.name,),
            system=system,
            messages=messages,
            head=len(messages),
            limits=ADDER.run_config.limits,
            info=ModelInfo(),
        )
    )
    for turn, response in enumerate(_RESPONSES, 1):
        loop.feed(ModelCalled(at=1.0, turn=turn))
        loop.feed(ModelReplied(at=1.0, response=response))
        loop.feed(ToolsStarted(at=1.0, turn=turn))
        loop.feed(ToolFinished(at=1.0, index=0, outcome=ToolOutcome.FINISHED, content="5"))
    assert loop.turn == _TURNS
    return time.process_time() - began


def measure(rounds: int) -> Iterator[Figure]:
    seconds = median_of(rounds, _simulate)
    yield Figure("the pure loop alone: a turn with one tool call", seconds / _TURNS * 1e6, "µs CPU")
