"""The clocks of the computer, for tests that let time pass without waiting."""

from __future__ import annotations

import time

import pytest


class Clocks:
    """The clocks of the computer, which go on by themselves and can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        wall, monotonic = time.time, time.monotonic
        self._set_ahead = self._passed = 0.0
        monkeypatch.setattr(time, "time", lambda: wall() + self._set_ahead + self._passed)
        monkeypatch.setattr(time, "monotonic", lambda: monotonic() + self._passed)

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self._passed += seconds

    def set_ahead(self, seconds: float) -> None:
        """Set the wall clock, and nothing else; below 0 sets it back."""
        self._set_ahead += seconds
