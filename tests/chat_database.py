"""New SQLite databases of the chat: copies of one, since making the tables takes longer than most tests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from maverick.chat import Database
from maverick.chat.migrations import migrate
from maverick.server.tables import SERVER


def prepared(location: Path | str) -> Path | str:
    """The location, where a file that is not there yet is made with all tables in it."""
    if "://" not in str(location) and not Path(location).exists():
        Path(location).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_template(), location)
    return location


@cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="maverick-chat-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    database = Database(folder / "chat.db")
    migrate(database.engine, SERVER)
    database.close()
    return folder / "chat.db"
