"""What is being done for conversations: each thing in a task of its own, and what goes wrong told in its conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from maverick.exceptions import MaverickError, RunChangedError
from maverick.tui.block import Tone
from maverick.tui.plain_text import one_line
from maverick.tui.session import Session

_FAREWELL = 5.0
"""Seconds that what runs has to come to its end when it is stopped."""


class Workload:
    """Does things, and knows what is not done yet.

    Args:
        clock: The time, in seconds since the epoch.
        done: Called when something is done, or has failed.
    """

    def __init__(self, clock: Callable[[], float], done: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._done = done
        self._tasks: dict[asyncio.Task[None], Session] = {}

    def begin(self, session: Session, work: Callable[[], Awaitable[None]]) -> None:
        """Do something with a conversation."""
        session.began_at = self._clock()
        task = asyncio.create_task(self._do(session, work))
        self._tasks[task] = session
        task.add_done_callback(self._tasks.pop)

    async def stop(self) -> list[Session]:
        """Stop what runs and drop the rest; returns the conversations whose run can be resumed."""
        live = [session for session in self._tasks.values() if session.is_live]
        for task, session in self._tasks.items():
            if session.is_live:
                session.stop()
            else:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_FAREWELL)
        return [session for session in live if session.model.can_resume]

    async def drop(self) -> None:
        """End everything at once."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _do(self, session: Session, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except RunChangedError as error:
            complain(session, f"{error} Or press R to go on with it as it is now.")
        except MaverickError as error:
            complain(session, str(error))
        except Exception as error:  # noqa: BLE001 - a mistake in the program is told as well, and the screen stays
            complain(session, f"{type(error).__name__}: {error}. This should not happen.")
        await self._done()


def complain(session: Session, words: str) -> None:
    """Tell in a conversation what is wrong."""
    session.model.remark(one_line(words), Tone.BAD)
