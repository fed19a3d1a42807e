"""Workers as processes of their own, and a way to stop them dead, freeze them, and cut them off."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import maverick
from warm_start import Maverick

_PATH = os.pathsep.join((str(Path(str(maverick.__file__)).parents[1]), str(Path(__file__).parents[1])))


class WorkerProcess:
    """A worker of a fleet.

    Args:
        agents: The Python file with its agents.
        temporal: The address of the Temporal server.
        db: The URL of the journal.
        log: Where its output goes.
        queue: How the names of the fleet's task queues begin.
        max_runs: How many runs it drives at once.
        environment: What it finds in its environment besides.
    """

    def __init__(
        self,
        agents: Path,
        temporal: str,
        db: str,
        *,
        log: Path,
        queue: str = "maverick",
        max_runs: int = 100,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self.process = Maverick(
                "worker", "--temporal", temporal, "--db", db, "--agents", str(agents), "--max-runs", str(max_runs),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=log.parent,
                env=os.environ
                | {"PYTHONPATH": _PATH, "PYTHONWARNINGS": "error", "MAVERICK_TEMPORAL_QUEUE": queue, "HOME": str(log.parent)}
                | (environment or {}),
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """The number of the process, which is part of the worker's name."""
        return self.process.pid

    def kill(self) -> None:
        """Stop it dead."""
        self._signal(signal.SIGKILL)
        self.process.wait()

    def freeze(self) -> None:
        """Have it do nothing until :meth:`thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen one go on, which knows nothing of the time that has passed."""
        self._signal(signal.SIGCONT)

    def terminate(self, patience: float = 60) -> int:
        """Ask it to hand over its runs and to end; returns its exit code."""
        self._signal(signal.SIGTERM)
        return self.process.wait(patience)

    def _signal(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
