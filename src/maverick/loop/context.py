"""How much of what a model can read a conversation takes, and what is done when it is full."""

from __future__ import annotations

from maverick.loop import compaction
from maverick.model import History, Message, Request, RequestConfig

_USUAL_ANSWER = 4096
"""Tokens kept free for an answer whose size the definition leaves to the client."""
_SMALLEST_RESULT = 100


class ContextWindow:
    """The gauge of one run's conversation.

    Args:
        size: How many tokens the model can read, if known.
        head: How many messages state the task and are never condensed.
        earlier: How many messages of an earlier conversation come before those.
    """

    __slots__ = ("_condensed_turn", "_cut", "_offered", "_size", "_task", "tokens")

    def __init__(self, size: int | None, head: int, earlier: int = 0) -> None:
        self.tokens = 0
        """About how many tokens the next request has."""
        self._size = size
        self._task = range(earlier, earlier + head)
        """Where in the conversation the task stands."""
        self._offered = 0
        """How many of those the tools take."""
        self._cut = 0
        self._condensed_turn = -1

    def resize(self, size: int | None) -> None:
        """Go on with a model that can read more, or less."""
        self._size = size

    def offer(self, tokens: int) -> None:
        """Go on with tools that take so many tokens."""
        self.tokens = max(self.tokens + tokens - self._offered, 0)
        self._offered = tokens

    def recount(self, system: str, history: History) -> None:
        """Estimate anew, from all there is."""
        self.tokens = compaction.said_tokens(system, history) + self._offered

    def add(self, message: Message, counted: int = 0) -> None:
        """Count a message; ``counted`` is what the provider says the whole conversation has with it."""
        self.tokens = counted or self.tokens + compaction.message_tokens(message)

    def overflowed(self) -> None:
        """Learn from the provider that the conversation is too long as it is."""
        self._size = self.tokens if self._size is None else min(self._size, self.tokens)

    def is_full(self, asked: int) -> bool:
        """Whether there is no room for an answer of the asked size; 0 is one of usual size."""
        if self._size is None:
            return False
        return self.tokens + min(asked or _USUAL_ANSWER, self._size // 4) > self._size

    def next_turn_tokens(self, asked: int) -> int:
        """About what the next request and its answer take together."""
        return self.tokens + (asked or _USUAL_ANSWER)

    def result_share(self, count: int) -> int | None:
        """How many tokens each of ``count`` tool results may have, so that together they fill half the window."""
        return None if self._size is None else max(self._size // (2 * count), _SMALLEST_RESULT)

    def summary_request(self, history: History, turn: int, config: RequestConfig) -> Request | None:
        """The question for a summary of the older turns; ``None`` if there are none, or this turn has asked it."""
        size, task = self._size or self.tokens, self._task
        cut = compaction.newest_turns(history, 0 if task.start else task.stop, size // 2)
        if cut in task:
            cut = task.start
        older = self._older(history, cut)
        if len(older) < 2 or cut == len(history) or self._condensed_turn == turn:
            return None
        self._cut, self._condensed_turn = cut, turn
        return compaction.summary_request(older, config, size)

    def shortened(self, history: History) -> History | None:
        """The history with its largest tool results cut, if there are any to cut."""
        return compaction.shortened(history, max((self._size or self.tokens) // 8, _SMALLEST_RESULT))

    def condensed(self, history: History, summary: str) -> History:
        """The history with the older turns replaced by their summary, or by what can be said without one."""
        older = self._older(history, self._cut)
        note = compaction.summary_note(summary or compaction.plain_summary(older), older)
        task, newest = self._task, history[self._cut :]
        if task.start >= self._cut:  # the task is among the newest
            self._task = range(task.start - self._cut + 1, task.stop - self._cut + 1)
            return History((note, *newest))
        stated = history[task.start : task.stop]
        if task.start == 0:
            return History((*stated, note, *newest))
        self._task = range(1, 1 + len(task))
        return History((note, *stated, *newest))

    def _older(self, history: History, cut: int) -> tuple[Message, ...]:
        """What is condensed when the newest turns begin here: all before them but the task."""
        task = self._task
        return (*history[: min(cut, task.start)], *history[task.stop : cut])
