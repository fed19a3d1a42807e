"""A process that is killed with SIGKILL while it answers; the request is then sent again, to another process."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from chat.doomed import answer
from chat.parlour import Parlour
from maverick.chat import Database
from maverick.journal import SqliteJournal

PROGRAM = str(Path(__file__).with_name("doomed.py"))


@pytest.mark.requirement("P1", "P2", "CHAT-KEYED")
@pytest.mark.parametrize("last_write", [4, 6, 8])
async def test_after_a_kill_the_request_is_answered_and_has_acted_once(
    last_write: int, database: Database, tmp_path: Path
) -> None:
    journal_file = tmp_path / "runs.db"
    child = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, str(tmp_path / "chat.db"), str(journal_file), str(last_write)
    )
    async with asyncio.timeout(60):
        killed_by = await child.wait()

    async with SqliteJournal(journal_file) as journal:
        answers = [await answer(database, journal) for _ in range(2)]

    assert killed_by == -signal.SIGKILL
    assert answers == ["Got it! Added 'buy milk' to your list. Anything else?"] * 2
    assert Parlour(database).titles() == ["buy milk"]
