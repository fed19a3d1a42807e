"""The clock of the event loop, made to leap, so that no test waits for a time limit."""

from __future__ import annotations

import asyncio

import pytest


class LeapingClock:
    """The clock of the running event loop, which all time limits go by.

    Args:
        monkeypatch: Puts the real one back after the test.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        time = loop.time
        self._ahead = 0.0
        monkeypatch.setattr(loop, "time", lambda: time() + self._ahead)

    def leap(self, seconds: float) -> None:
        """Go ahead: whatever was to happen within so many seconds happens now."""
        self._ahead += seconds
