from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from canary import CANARY
from maverick.exceptions import InvalidInputError, JournalError
from maverick.journal import SqliteJournal
from maverick.journal.opening import open_journal


async def test_a_path_is_a_file_that_is_made_with_a_folder_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "runs.db"
    async with open_journal(file) as journal:
        assert isinstance(journal, SqliteJournal)
        assert await journal.list_runs() == []

    assert file.exists()
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_the_home_folder_may_be_written_as_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    async with open_journal("~/.maverick/runs.db") as journal:
        await journal.list_runs()

    assert (tmp_path / ".maverick" / "runs.db").exists()


def test_a_file_that_is_not_there_may_be_an_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="There is no journal at"):
        open_journal(tmp_path / "mine" / "runs.db", create=False)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("location", ["mysql://localhost/runs", "https://example.com/runs.db", "://"])
def test_another_address_is_refused_without_telling_what_is_in_it(location: str) -> None:
    with pytest.raises(InvalidInputError, match="expected a path or a postgresql:// address") as caught:
        open_journal(location)
    assert caught.value.field == "journal"
    assert "localhost" not in str(caught.value)


@pytest.mark.parametrize(
    "location", ["~nobody-of-this-name/runs.db", "nul\0nul.db", "FILE/below-a-file/runs.db"]
)
def test_a_path_that_can_not_be_is_a_typed_error(location: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    location = location.replace("FILE", str(tmp_path / "file"))
    for create in (True, False):
        with pytest.raises(JournalError):
            open_journal(location, create=create)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_an_address_of_a_database_is_not_connected_to_before_it_is_used(scheme: str) -> None:
    pytest.importorskip("asyncpg")
    journal = open_journal(f"{scheme}://nobody:{CANARY}@127.0.0.1:1/runs", create=False)

    assert type(journal).__name__ == "PostgresJournal"


def test_a_file_needs_no_driver_of_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "maverick.journal.postgres.journal", None)

    assert isinstance(open_journal(tmp_path / "runs.db"), SqliteJournal)
