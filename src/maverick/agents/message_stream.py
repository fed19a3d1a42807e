"""The messages of a query as they arrive, for whoever iterates over them and may stop at any time.

An async generator that is left in the middle is closed by the event loop, and so is each generator below it, all at
once: at the end of a program they get in each other's way, and asyncio logs it. Here a task of its own goes through
the generators. They end in that task, in order, whatever becomes of the iteration.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Self, TypeAlias

if TYPE_CHECKING:
    from claude_agent_sdk import Message

_Reply: TypeAlias = "asyncio.Future[Message]"


class MessageStream(AsyncIterator["Message"]):
    """Iterates over messages; nothing is started before the first one is wanted.

    Args:
        messages: Where they come from.
    """

    def __init__(self, messages: AsyncGenerator[Message, None]) -> None:
        self._messages = messages
        self._wanted: asyncio.Queue[_Reply | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        if self._task is None:
            self._task = asyncio.create_task(_serve(self._messages, self._wanted))
        if self._task.done():
            raise StopAsyncIteration
        reply: _Reply = asyncio.get_running_loop().create_future()
        self._wanted.put_nowait(reply)
        try:
            either: list[asyncio.Future[Any]] = [reply, self._task]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if reply.done():
            return reply.result()
        self._task.result()  # why there are no more, if it is an error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the query, and wait until nothing of it is left."""
        if self._task is None:
            await self._messages.aclose()
        else:
            self._task.cancel()
            await asyncio.wait([self._task])

    def __del__(self) -> None:
        if self._task is not None and not self._task.done():
            with suppress(RuntimeError):  # the event loop is closed, and the task with it
                self._task.get_loop().call_soon_threadsafe(self._wanted.put_nowait, None)


async def _serve(
    messages: AsyncGenerator[Message, None], wanted: asyncio.Queue[asyncio.Future[Message] | None]
) -> None:
    """Hand out one message for each reply that waits; it must not know the stream, so that that can be let go."""
    async with aclosing(messages):
        while (reply := await wanted.get()) is not None:
            try:
                message = await anext(messages)
            except StopAsyncIteration:
                return
            if not reply.done():
                reply.set_result(message)
