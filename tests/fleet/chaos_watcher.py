"""Someone who watches a run of a fleet, and notes what it says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from random import Random

from maverick.fleet import Fleet
from maverick.journal import Journal
from maverick.loop.entries import ModelCalled, ModelReplied
from maverick.loop.events import ContentChunk, RetryScheduled, TurnStart


class Watcher:
    """Watches a run, and now and then goes on where it was as another would.

    Args:
        fleet: The fleet.
        run_id: The run.
        random: Decides when to break off.
    """

    def __init__(self, fleet: Fleet, run_id: str, random: Random) -> None:
        self.run_id = run_id
        self._fleet = fleet
        self._random = random
        self._turns: dict[str, int] = {}
        self._shown: dict[tuple[str, int], str] = defaultdict(str)
        """What each turn of the run and of its subagents' has said."""

    async def watch(self) -> None:
        """Watch until the run has ended."""
        cursor = ""
        while True:
            events, left = self._fleet.run(self.run_id).events(after=cursor), self._random.randint(20, 200)
            async for event in events:
                match event:
                    case TurnStart(run_id=run_id, turn_number=turn):
                        self._turns[run_id] = turn
                    case ContentChunk(run_id=run_id, content=content):
                        self._shown[run_id, self._turns[run_id]] += content
                    case RetryScheduled(run_id=run_id):
                        self._shown[run_id, self._turns[run_id]] = ""
                cursor, left = events.cursor, left - 1
                if not left:
                    break
            else:
                return

    async def misheard(self, journal: Journal) -> AsyncIterator[str]:
        """What was shown otherwise than it was said."""
        for run_id in {self.run_id, *(run_id for run_id, _ in self._shown)}:
            turn = 0
            async for stored in journal.read(run_id):
                match stored.entry:
                    case ModelCalled():
                        turn = stored.entry.turn
                    case ModelReplied(response=response) if response.content != self._shown[run_id, turn]:
                        yield f"turn {turn} of {run_id} said {response.content!r}, shown was {self._shown[run_id, turn]!r}"
