"""How many runs a worker drives at once, over all its task queues together.

A worker polls a queue for each version of each agent, and Temporal asks for a slot before it polls: if polls held slots, a
few idle queues would keep the others from being polled. So only runs hold slots. When few are free, polls begin one after
the other, so that the first of them can find a run before the next begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    WorkerTuner,
)

_NEXT_POLL = 0.02
"""Seconds that a poll has to find a run before the next begins."""
_LOOK_AGAIN = 0.05


class RunSlots(CustomSlotSupplier):
    """Lets a worker poll while ``free`` says that it may drive one more run."""

    def __init__(self, free: Callable[[], int], pollers: int) -> None:
        self._free = free
        self._pollers = pollers
        self._turn = asyncio.Lock()

    @property
    def tuner(self) -> WorkerTuner:
        """What tells a Temporal worker."""
        one = FixedSizeSlotSupplier(1)
        return WorkerTuner.create_composite(
            workflow_supplier=one, activity_supplier=self, local_activity_supplier=one, nexus_supplier=one
        )

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:  # noqa: ARG002 - Temporal's interface
        """Wait until one more run may be driven."""
        async with self._turn:
            while self._free() <= self._pollers:
                await asyncio.sleep(_NEXT_POLL if self._free() > 0 else _LOOK_AGAIN)
                if self._free() > 0:
                    break
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:  # noqa: ARG002 - Temporal's interface
        """Refuse: no run is driven without a poll."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """Nothing to do: the worker counts its runs."""

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """Nothing to do: the worker counts its runs."""
