"""What Ctrl-C does while something is at work."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def on_ctrl_c(action: Callable[[], None], *, twice_kills: bool = False) -> Iterator[None]:
    """Have Ctrl-C do something else than end the process, for the length of a ``with`` block.

    Args:
        action: What it does.
        twice_kills: Whether pressing it a second time ends the process at once.
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
