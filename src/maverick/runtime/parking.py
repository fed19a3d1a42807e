"""How a run that waits for a person leaves its driver."""

from __future__ import annotations

from maverick.exceptions import AgentError


class RunParked(Exception):  # noqa: N818 - not an error: how a run that waits leaves its driver
    """The run waits for a person; no process is needed until somebody has decided."""

    def __init__(self, error: AgentError) -> None:
        super().__init__(error.message)
        self.error = error
