"""What stops a run from outside: Ctrl-C, and the signals that ask a process to end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from maverick.cli.screen import point_nowhere


@contextmanager
def on_ctrl_c(action: Callable[[], object], *, twice_kills: bool = False) -> Iterator[None]:
    """Have Ctrl-C do something else than end the process, for the length of a ``with`` block.

    With ``twice_kills``, pressing it a second time ends the process at once.
    """

    def pressed(number: int, _: FrameType | None) -> None:
        if twice_kills:
            signal.signal(number, signal.SIG_DFL)
        action()

    former = signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""What comes when the terminal is gone; Windows does not have it."""
ENDING = (signal.SIGTERM, *([HANGUP] if HANGUP else []))
"""What asks a process to end."""


@contextmanager
def on_stop_signals(stop: Callable[[], object]) -> Iterator[list[int]]:
    """Have signals stop something in place of ending the process, for the length of a ``with`` block.

    Ctrl-C that comes twice ends the process at once. The others often come twice for one reason: from a terminal that is
    closed and from its shell, or from ``timeout``, to a process and to its group. One that is ignored, as ``nohup`` has
    it, stays ignored. Once one has come, the process is ending, and later ones do not cut short what is left to do. Yields
    the numbers of those that came, in their order.
    """
    came: list[int] = []
    terminals = [descriptor for descriptor in (1, 2) if os.isatty(descriptor)]

    def stop_for(number: int, _: FrameType | None = None) -> None:
        came.append(number)
        if number == HANGUP:
            _let_go_of_closed(terminals)
        stop()

    former = {
        number: signal.signal(number, stop_for)
        for number in ENDING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        with on_ctrl_c(lambda: stop_for(signal.SIGINT), twice_kills=True):
            yield came
    finally:
        is_ending = any(number in ENDING for number in came)
        for number, handler in former.items():
            signal.signal(number, signal.SIG_IGN if is_ending else handler)


def _let_go_of_closed(terminals: list[int]) -> None:
    """Send further output to the null device if the terminal is gone."""
    for descriptor in terminals:
        if not os.isatty(descriptor):
            point_nowhere(descriptor)
