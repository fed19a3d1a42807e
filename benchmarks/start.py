"""How long the command takes to start, with byte code: from the shell's fork to the end of the process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from benchmarks.figure import Figure, Target

_COMMANDS = {
    "maverick --help": ["--help"],
    "maverick run -p hi, offline": ["run", "-p", "hi"],
    "maverick runs list": ["runs", "list"],
}


def measure(rounds: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as home:
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        environment |= {
            "PYTHONDONTWRITEBYTECODE": "",
            "PYTHONPYCACHEPREFIX": f"{home}/byte_code",
            "HOME": home,
        }
        for name, arguments in _COMMANDS.items():
            _seconds(arguments, environment, home)  # writes the byte code
            seconds = median(_seconds(arguments, environment, home) for _ in range(rounds))
            yield Figure(name, seconds * 1e3, "ms", Target(300))


def _seconds(arguments: Sequence[str], environment: Mapping[str, str], folder: str) -> float:
    began = time.perf_counter()
    subprocess.run(  # noqa: S603 - this interpreter, and our own command
        [sys.executable, "-m", "maverick", *arguments],
        env=environment,
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - began
