"""How long the command takes to start, with byte code: from the shell's fork to the end of the process."""

from __future__ import annotations

import os
import resource
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
_CHAT = (
    ("maverick chat: start, to its first words", "/help\n", 25),
    ("maverick chat: start, first answer and end", "add buy milk\n", 75),
)
"""Half a second, and one more, where Python itself takes 20 milliseconds."""


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

        python = median(_cpu([sys.executable, "-c", "pass"], environment, home) for _ in range(rounds))
        for name, said, times in _CHAT:
            chat = [sys.executable, "-m", "maverick", "chat"]
            _cpu(chat, environment, home, said)
            seconds = median(_cpu(chat, environment, home, said) for _ in range(rounds))
            yield Figure(name, seconds / python, "× Python", Target(times))


def _cpu(command: Sequence[str], environment: Mapping[str, str], folder: str, said: str = "") -> float:
    """The CPU seconds of a process: a ratio of them does not depend on what else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(  # noqa: S603 - this interpreter
        command, env=environment, cwd=folder, check=True, capture_output=True, input=said.encode(), timeout=60
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
