"""A write that an event loop waits for."""

from __future__ import annotations

import asyncio
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class PendingWrite(Generic[R]):
    """What a writer does for somebody in an event loop.

    The writer sets ``value`` or ``error``, wherever it runs; ``settle`` is called in the event loop.
    """

    __slots__ = ("_answer", "_settled", "error", "loop", "value")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.value: Any = None
        self.error: BaseException | None = None
        self._answer: asyncio.Future[None] | None = None
        self._settled = False

    def settle(self) -> None:
        """Wake whoever waits."""
        self._settled = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    async def outcome(self) -> R:
        """What came of it, once that is known. Half a write is not: whoever is cancelled waits for the end first.

        Raises:
            MaverickError: It failed.
            asyncio.CancelledError: It was made, and meanwhile whoever waits was cancelled.
        """
        cancelled: asyncio.CancelledError | None = None
        while not self._settled:
            # A future for each wait, and no task or shield, which would double the cost of a turn's writes.
            self._answer = self.loop.create_future()
            try:
                await self._answer
            except asyncio.CancelledError as stop:
                cancelled = stop
        if self.error is not None:
            raise self.error
        if cancelled is not None:
            raise cancelled
        result: R = self.value
        return result
