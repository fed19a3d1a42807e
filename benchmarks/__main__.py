"""Runs the benchmarks that are named, or all of them, and prints one table."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from benchmarks import (
    calibration,
    claude_cli,
    concurrent_runs,
    durable_turns,
    fleet,
    idle_memory,
    imports,
    machine,
    parallel_tools,
    providers,
    server,
    start,
    streaming,
    table,
    tracing,
    tui,
    turns,
)
from benchmarks.figure import Figure

Benchmark: TypeAlias = Callable[[int], Iterator[Figure]]
"""Takes a number of rounds and yields what it measured."""

BENCHMARKS: Mapping[str, Benchmark] = {
    "calibration": calibration.measure,
    "machine": machine.measure,
    "turns": turns.measure,
    "streaming": streaming.measure,
    "tools": parallel_tools.measure,
    "runs": concurrent_runs.measure,
    "memory": idle_memory.measure,
    "imports": imports.measure,
    "start": start.measure,
    "journal": durable_turns.measure,
    "fleet": fleet.measure,
    "providers": providers.measure,
    "server": server.measure,
    "cli": claude_cli.measure,
    "tracing": tracing.measure,
    "tui": tui.measure,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print. A missed target is shown and is no failure: a busy machine misses some."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What Maverick costs.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(BENCHMARKS)} (default: all)"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="how often each is measured (default: %(default)s)"
    )
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark named {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    if chosen.rounds < 1:
        parser.error("--rounds has to be at least 1")

    print(f"Python {platform.python_version()} on {platform.machine()}; medians of {chosen.rounds} rounds\n")
    print(table.header())
    figures = []
    for name in chosen.names or BENCHMARKS:
        for figure in BENCHMARKS[name](chosen.rounds):
            figures.append(figure)
            print(table.line(figure), flush=True)
    print(f"\n{table.summary(figures)}")


if __name__ == "__main__":
    main()
