"""Tells a tool call of each process that is started in it.

Each call is named in a context variable, which flows into the tasks of the call and the threads it is given, and the
functions that start processes are replaced by ones that look there. So it is known whose a process is, with many calls
and many runs in one program at once. An audit hook would hear of the same starts, but before there is a number to
remember; and it is called for much else, so that :func:`copy.deepcopy`, for one, takes twice as long. Replaced functions
cost nothing while no process is started.

What is not heard of: what is started in a thread that a tool has made itself, which has an empty context, and what a
library starts without Python's functions.
"""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol

from maverick.model import ToolCall


class Starter(Protocol):
    """Whoever is told of the processes that tool calls start."""

    def allow(self, call: ToolCall) -> None:
        """Let a call start a process, or raise."""
        ...

    def add(self, call: ToolCall, pid: int) -> None:
        """Take note of a process that a call has started."""
        ...

    def waiting(self, call: ToolCall) -> AbstractContextManager[None]:
        """While this thread starts a process for a call, and waits for it, without knowing which it is."""
        ...


current_starter: ContextVar[tuple[Starter, ToolCall] | None] = ContextVar("current_starter", default=None)
"""The tool call that this code runs for, and who is told."""


@functools.cache
def hear_of_starts() -> None:
    """Replace the functions that start processes by ones that tell of it; once."""
    if not sys.platform.startswith("linux"):  # nothing could be found, and so nothing ended
        return
    from multiprocessing.process import BaseProcess  # here, since few programs need it

    for place, name, replaced in (
        (subprocess.Popen, "__init__", partial(_telling, pid_of=_of_object)),
        (asyncio.subprocess.Process, "__init__", partial(_telling, pid_of=_of_object, is_running=True)),
        (BaseProcess, "start", partial(_telling, pid_of=_of_object)),
        (os, "fork", partial(_telling, pid_of=_as_answered)),
        (os, "forkpty", partial(_telling, pid_of=_first_answered)),
        (os, "posix_spawn", partial(_telling, pid_of=_as_answered)),
        (os, "posix_spawnp", partial(_telling, pid_of=_as_answered)),
        (os, "system", _waiting),
    ):
        setattr(place, name, replaced(getattr(place, name)))


def _of_object(args: tuple[Any, ...], _answer: object) -> int:
    pid: int = args[0].pid
    return pid


def _as_answered(_args: object, answer: int) -> int:
    return answer


def _first_answered(_args: object, answer: tuple[int, int]) -> int:
    return answer[0]


def _telling(
    function: Callable[..., Any], pid_of: Callable[..., int], *, is_running: bool = False
) -> Callable[..., Any]:
    """A function that starts a process, or makes the object of one that is running, and tells of it."""

    @functools.wraps(function)
    def start(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the function takes and returns
        current = current_starter.get()
        if current is None:
            return function(*args, **kwargs)
        starter, call = current
        if not is_running:
            starter.allow(call)
        answer = function(*args, **kwargs)
        if pid := pid_of(args, answer):  # it is 0 in the copy that a fork makes
            starter.add(call, pid)
        return answer

    return start


def _waiting(function: Callable[[Any], int]) -> Callable[[Any], int]:
    """A function that starts a process, waits for it, and never says which one it was."""

    @functools.wraps(function)
    def start(command: Any) -> int:  # noqa: ANN401 - whatever the function takes
        current = current_starter.get()
        if current is None:
            return function(command)
        starter, call = current
        with starter.waiting(call):
            return function(command)

    return start
