"""How much of something was used in the last 60 seconds."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

MINUTE = 60.0


@dataclass(slots=True)
class Charge:
    """An amount that counts until a minute after its time."""

    amount: int
    at: float


class RollingMinute:
    """Adds up charges, each of which counts for a minute, and says when there is room for more.

    Times are in seconds of one clock and never go back. Without a limit there is always room.
    """

    __slots__ = ("_charges", "_limit", "_used")

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._charges: deque[Charge] = deque()
        self._used = 0

    def time_to_wait(self, amount: int, now: float) -> float:
        """Seconds until so much more may be used: 0 when it may be now.

        An amount above the limit may be used once nothing else counts.
        """
        if self._limit is None:
            return 0
        self._forget_old(now)
        excess = self._used + min(amount, self._limit) - self._limit
        if excess <= 0:
            return 0
        for charge in self._charges:
            excess -= charge.amount
            if excess <= 0:
                return charge.at + MINUTE - now
        raise AssertionError("an amount within the limit fits once every charge is gone")

    def charge(self, amount: int, now: float) -> Charge:
        """Use so much."""
        charge = Charge(amount, now)
        if self._limit is not None:
            self._charges.append(charge)
            self._used += amount
        return charge

    def correct(self, charge: Charge, amount: int, now: float) -> None:
        """Learn that a charge should have been of another amount.

        What it was too high is given back. What it was too low counts from now on: it was used since.
        """
        difference = amount - charge.amount
        if difference > 0:
            self.charge(difference, now)
        elif self._limit is not None and charge.at + MINUTE > now:
            charge.amount = amount
            self._used += difference

    def _forget_old(self, now: float) -> None:
        while self._charges and self._charges[0].at + MINUTE <= now:
            self._used -= self._charges.popleft().amount
