"""What conversations are doing: their tasks, the errors of those, and stopping them when the user quits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from maverick.exceptions import MaverickError, RunChangedError
from maverick.tui.block import Tone
from maverick.tui.plain_text import one_line
from maverick.tui.session import Session

_STOP_TIMEOUT = 5.0
"""Seconds that runs have to end when they are stopped."""


class SessionTasks:
    """Starts the tasks of conversations, shows their errors there, and stops those that are not done.

    Args:
        clock: The time, in seconds since the epoch.
        done: Called when a task is done or has failed.
    """

    def __init__(self, clock: Callable[[], float], done: Callable[[], Awaitable[None]]) -> None:
        self._clock = clock
        self._done = done
        self._tasks: dict[asyncio.Task[None], Session] = {}

    def start(self, session: Session, work: Callable[[], Awaitable[None]]) -> None:
        """Do something with a conversation."""
        session.began_at = self._clock()
        task = asyncio.create_task(self._run(session, work))
        self._tasks[task] = session
        task.add_done_callback(self._tasks.pop)

    async def stop(self) -> list[Session]:
        """Stop runs and cancel the rest; returns the conversations whose run can be resumed."""
        live = [session for session in self._tasks.values() if session.is_live]
        for task, session in self._tasks.items():
            if session.is_busy:
                session.stop()
            else:
                task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_STOP_TIMEOUT)
        return [session for session in live if session.model.can_resume]

    async def cancel(self) -> None:
        """Cancel everything at once."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, session: Session, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except RunChangedError as error:
            show_error(session, f"{error} Or resume it anyway: /resume anyway")
        except MaverickError as error:
            show_error(session, str(error))
        except Exception as error:  # noqa: BLE001 - a bug is shown too, and the screen stays
            show_error(session, f"Internal error: {type(error).__name__}: {error}")
        await self._done()


def show_error(session: Session, text: str) -> None:
    """Show an error in a conversation."""
    session.model.remark(one_line(text), Tone.BAD)
