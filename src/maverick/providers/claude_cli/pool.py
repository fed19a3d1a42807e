"""A bounded pool of sessions with the CLI, kept for the next prompt."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from maverick.exceptions import AgentError, TimeoutError
from maverick.misuse import refuse
from maverick.providers.claude_cli.session import CliSession

S = TypeVar("S", bound=CliSession)

DEFAULT_SIZE = 4
"""How many CLIs run at once; each needs about 250 MB."""


class SessionPool:
    """A bounded number of sessions, in the event loop it is first used in; further callers wait.

    With ``keep``, a finished session is kept, so that the next one with the same options starts at once.
    """

    def __init__(self, size: int = DEFAULT_SIZE, *, keep: bool = True) -> None:
        if size < 1:
            refuse("size", f"expected 1 or more, got {size!r}.")
        self.keep = keep
        """Whether finished sessions are kept."""
        self._size = size
        self._slots = asyncio.Semaphore(size)
        self._busy = 0
        self._idle: list[CliSession] = []
        self._warming: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def session(self, wanted: S, *, wait_seconds: float | None = None) -> AsyncIterator[S]:
        """A session for one conversation, without anything from an earlier one.

        One that was kept and is like the one that is wanted takes its place. A free place is waited for, for ``wait_seconds``
        at most. Leaving the block before the answer is complete ends the CLI at once.
        """
        await self._wait_for_slot(wait_seconds)
        try:
            session = await self._taken(wanted)
            try:
                yield session
            finally:
                await self._give_back(session)
        finally:
            self._slots.release()
            self._busy -= 1

    async def prepare(self, *wanted: CliSession) -> None:
        """Start a CLI for each later conversation, unless one is ready or the pool is full.

        From now on, finished sessions are kept.
        """
        self.keep = True
        await asyncio.gather(*map(self._prepare, wanted))

    async def _prepare(self, wanted: CliSession) -> None:
        session = self._kept_like(wanted)
        if session is None and len(self._idle) + self._busy < self._size:
            session = wanted
            self._idle.append(session)
        if session is not None:
            try:
                await session.open(warm=True)
            except BaseException:
                if session in self._idle:
                    self._idle.remove(session)
                raise

    def prepare_soon(self, *wanted: CliSession) -> Callable[[], None]:
        """Do the same in the background, and end what is kept with the event loop at the latest.

        If the CLI cannot be started, the next prompt reports it. The function that is returned ends it earlier, from any
        thread.
        """
        loop = asyncio.get_running_loop()
        warming = self._warming = asyncio.create_task(self._keep_warm(wanted))

        def end() -> None:
            with suppress(RuntimeError):  # the event loop is closed, and the task with it
                loop.call_soon_threadsafe(warming.cancel)

        return end

    async def _keep_warm(self, wanted: Sequence[CliSession]) -> None:
        try:
            with suppress(AgentError):
                await self.prepare(*wanted)
            await asyncio.Event().wait()  # until it is cancelled
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """End the idle sessions, and keep none from now on."""
        self.keep = False
        if self._warming is not None and self._warming is not asyncio.current_task():
            self._warming.cancel()
        idle, self._idle = self._idle, []
        await asyncio.gather(*(session.aclose() for session in idle))

    async def _wait_for_slot(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
        except builtins.TimeoutError as error:
            raise TimeoutError(
                f"All {self._size} Claude CLIs were busy for {seconds:g} s. Finish or close other queries, or allow "
                "more at once."
            ) from error
        self._busy += 1

    async def _taken(self, wanted: S) -> S:
        if (session := self._kept_like(wanted)) is not None:
            self._idle.remove(session)
            return session
        while self._idle and len(self._idle) + self._busy > self._size:
            await self._idle.pop(0).aclose()
        return wanted

    def _kept_like(self, wanted: S) -> S | None:
        for session in reversed(self._idle):
            if isinstance(session, type(wanted)) and session.reusable and session.key == wanted.key:
                return session
        return None

    async def _give_back(self, session: CliSession) -> None:
        if self.keep and session.reusable and session.key is not None:
            try:
                await session.forget()
            except AgentError:
                pass  # it has just exited
            else:
                self._idle.append(session)
                return
        await session.aclose()
