"""Typical mistakes: each is met with an error that names the cause and the fix, in our own words."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from maverick.exceptions import MaverickError
from maverick.journal import SqliteJournal
from mistakes import definitions, journals, models, running, tools  # noqa: F401 - they fill the catalog
from mistakes.catalog import MISTAKES

PYTHONS_OWN = (TypeError, ImportError, AttributeError)
"""Where Python itself demands its own type: wrong arguments, names that are not there."""

RAW = re.compile(
    r"No module named|pydantic[._-]|aiohttp|msgspec|httpx|sqlite3|asyncpg|yaml\.[a-z]|Errno|object at 0x|Traceback|"
    r"unexpected keyword|positional argument|NoneType|unable to open|Expecting value|Input should be",
    re.IGNORECASE,
)
"""Words of libraries and of Python that mean nothing to a newcomer."""


@pytest.fixture(autouse=True)
async def opened(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[SqliteJournal]]:
    """Close the journals that a mistake leaves open, as newcomers do."""
    left: list[SqliteJournal] = []
    make = SqliteJournal.__init__

    def remember(journal: SqliteJournal, *arguments: Any, **options: Any) -> None:
        make(journal, *arguments, **options)
        left.append(journal)

    monkeypatch.setattr(SqliteJournal, "__init__", remember)
    yield left
    for journal in left:
        await journal.aclose()


@pytest.mark.requirement("ERR-TEACH")
@pytest.mark.parametrize("name", MISTAKES)
async def test_a_mistake_is_met_with_its_cause_and_its_fix(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)

    try:
        said = str(await MISTAKES[name](tmp_path))
        if MISTAKES[name].log:
            said = caplog.messages[0]
    except (MaverickError, *PYTHONS_OWN) as error:
        said = str(error)

    for words in MISTAKES[name].says:
        assert words in said
    assert not RAW.search(said), said
    assert said.count("\n") < 3
    assert len(said) < 500, said
