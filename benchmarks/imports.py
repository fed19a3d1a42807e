"""What importing Maverick costs in a fresh interpreter, with byte code, and what it must not bring along."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from statistics import median

from benchmarks.figure import Figure, Target

HEAVY = (
    "anthropic",
    "openai",
    "mcp",
    "fastapi",
    "textual",
    "sqlalchemy",
    "aiohttp",
    "httpx",
    "pydantic",
    "yaml",
)
"""What nobody should wait for who has not asked for it."""

_STATEMENTS = {
    "import maverick": "import maverick",
    "from maverick import AgentExecutor, …": (
        "from maverick import AgentDefinition, AgentExecutor, connect, tool"
    ),
}
_PROGRAM = """
import sys, time
began = time.process_time()
{statement}
seconds = time.process_time() - began
print(seconds, sum(name in sys.modules for name in {heavy!r}))
"""


def measure(rounds: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as byte_code:
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": byte_code}
        for name, statement in _STATEMENTS.items():
            _import(statement, environment)  # writes the byte code
            seconds, heavy = zip(*(_import(statement, environment) for _ in range(rounds)), strict=True)
            yield Figure(name, median(seconds) * 1e3, "ms CPU", Target(150))
            yield Figure(f"{name}: heavy modules", max(heavy), "loaded", Target(0))


def _import(statement: str, environment: Mapping[str, str]) -> tuple[float, int]:
    program = _PROGRAM.format(statement=statement, heavy=HEAVY)
    ran = subprocess.run(  # noqa: S603 - this interpreter, and a program of this module
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    seconds, heavy = ran.stdout.split()
    return float(seconds), int(heavy)
