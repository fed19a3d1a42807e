"""A process that is killed with SIGKILL while it answers; the request is then sent again, to another process."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from chat.doomed import answer
from chat.parlour import Parlour
from maverick.chat import Database
from maverick.journal import SqliteJournal
from warm_start import Script


@pytest.mark.requirement("P1", "P2", "CHAT-KEYED")
@pytest.mark.parametrize("last_write", [4, 6, 8])
async def test_after_a_kill_the_request_is_answered_and_has_acted_once(
    last_write: int, database: Database, tmp_path: Path
) -> None:
    journal_file = tmp_path / "runs.db"
    child = Script("chat.doomed", str(tmp_path / "chat.db"), str(journal_file), str(last_write))
    killed_by = await child.ended()

    async with SqliteJournal(journal_file) as journal:
        answers = [await answer(database, journal) for _ in range(2)]

    assert killed_by == -signal.SIGKILL
    assert answers == ["Got it! Added 'buy milk' to your list. Anything else?"] * 2
    assert Parlour(database).titles() == ["buy milk"]
