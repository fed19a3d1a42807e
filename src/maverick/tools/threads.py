"""Threads for functions that block.

The standard library's pool waits for its threads when the interpreter exits, so one function that never returns
keeps the whole program alive. These threads are daemons: they end with the program. An idle one is used again.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")

_IDLE_SECONDS = 30.0


class DaemonThreads:
    """Runs jobs in threads that do not keep the program alive; as many as there are jobs at once."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)

    def submit(self, job: Callable[[], None]) -> None:
        """Run a job that raises nothing."""
        self._jobs.put(job)
        if not self._idle.acquire(blocking=False):
            threading.Thread(target=self._work, name="maverick-tool", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                if self._idle.acquire(blocking=False):
                    return
                continue  # a job is on its way that counts on this thread
            job()
            self._idle.release()


_threads = DaemonThreads()
_process = object()


def _renew() -> None:
    global _threads, _process
    _threads, _process = DaemonThreads(), object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def this_process() -> object:
    """An object that is another one in a forked copy of this process."""
    return _process


async def run_in_thread(function: Callable[..., R], /, *args: Any, **kwargs: Any) -> R:
    """Call a function in a thread and wait for what it returns.

    When the waiting task is cancelled it stops waiting at once. A thread cannot be stopped: the function continues,
    and what it returns is dropped.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[R] = loop.create_future()
    context = contextvars.copy_context()
    process = _process

    def job() -> None:
        try:
            value = context.run(function, *args, **kwargs)
        except BaseException as error:  # noqa: BLE001 - whatever it raises is the waiting task's to handle
            end_if_forked(process)
            _deliver(loop, answer, answer.set_exception, _raisable(error))
        else:
            end_if_forked(process)
            _deliver(loop, answer, answer.set_result, value)

    _threads.submit(job)
    return await answer


def end_if_forked(process: object) -> None:
    """End this process if it is a copy, made by a function that was called when :func:`this_process` said ``process``.

    The copy would continue with everything the original is doing: the same run, in two processes.
    """
    if _process is not process:
        os._exit(0)


def _deliver(
    loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any], settle: Callable[[Any], None], value: object
) -> None:
    def deliver() -> None:
        if not answer.done():
            settle(value)

    try:
        loop.call_soon_threadsafe(deliver)
    except RuntimeError:  # the loop was closed while the function ran
        return


def _raisable(error: BaseException) -> BaseException:
    """The error, or one to raise in its place: a coroutine cannot raise these two."""
    if isinstance(error, StopIteration | GeneratorExit):
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
