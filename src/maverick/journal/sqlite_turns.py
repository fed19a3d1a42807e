"""Who in this process writes to a SQLite file next.

SQLite lets one connection write at a time and makes the others ask again and again until their patience is over. Within
a process they can simply stand in line. Nobody loses patience, nobody blocks a thread that whoever writes may need, and
everybody gets a turn.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future


class Turns:
    """A line of those who want to write, in whatever thread or event loop they are."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[Future[None]] = deque()
        self._taken = False

    def ask(self) -> Future[None]:
        """Stand in line. The future is done when it is one's turn; who no longer wants it cancels it."""
        turn: Future[None] = Future()
        with self._guard:
            if self._taken:
                self._waiting.append(turn)
                return turn
            self._taken = True
        turn.set_result(None)
        return turn

    def jump_in(self) -> None:
        """Be the next one, before all who stand in line, and wait for it in this thread."""
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            turn: Future[None] = Future()
            self._waiting.appendleft(turn)
        turn.result()

    def pass_on(self) -> None:
        """End one's turn."""
        with self._guard:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    break
            else:
                self._taken = False
                return
        turn.set_result(None)
