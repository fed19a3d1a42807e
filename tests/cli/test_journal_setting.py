"""Where runs are kept: the setting, its sources, and that no password in it is ever shown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from canary import CANARY, lookout
from cli.command import run
from cli.runs_command import Runs
from maverick.config import DEFAULT_JOURNAL, MaverickConfig, Secret, Setting, load_config
from maverick.exceptions import ConfigError

ADDRESS = f"postgresql://ana:{CANARY}@db.example.com/runs"


def listed(home: Path, **env: str) -> list[str]:
    """The runs that are listed when no journal is named."""
    done = run("runs", "list", "--json", home=home, env=env)
    assert done.returncode == 0, done.stderr
    return [record["run_id"] for record in json.loads(done.stdout)]


def journal(folder: Path, **environ: str) -> str:
    trusted = {"MAVERICK_TRUST": str(folder), **environ}
    return load_config(folder, folder / "home", trusted).journal.get_secret_value()


def test_by_default_the_journal_is_in_the_home_folder(runs: Runs) -> None:
    (runs.home / ".maverick").mkdir()
    shutil.copy(runs.file, runs.home / ".maverick" / "runs.db")

    assert "sum" in listed(runs.home)


def test_the_environment_says_where_the_journal_is(runs: Runs) -> None:
    assert "sum" in listed(runs.home, MAVERICK_JOURNAL=str(runs.file))


def test_what_is_typed_comes_before_all_settings(runs: Runs) -> None:
    done = runs.start("list", env={"MAVERICK_JOURNAL": "elsewhere.db", "MAVERICK_AGENT_TEMPERATURE": "hot"})

    assert done.returncode == 0, done.stderr


def test_without_a_journal_the_person_is_told_where_it_would_be(tmp_path: Path) -> None:
    done = run("runs", "list", home=tmp_path)

    assert done.returncode == 2
    assert f"There is no journal at '{tmp_path}/.maverick/runs.db'." in done.stderr
    assert not (tmp_path / ".maverick").exists()


def test_files_and_the_environment_are_layered(tmp_path: Path) -> None:
    assert journal(tmp_path) == DEFAULT_JOURNAL == "~/.maverick/runs.db"

    lookout.plant(tmp_path / "home" / ".maverick" / "config.yaml", f"journal: {ADDRESS}")
    assert journal(tmp_path) == ADDRESS

    (tmp_path / "maverick.yaml").write_text("journal: ' runs.db '\nagent: {model: m}")
    assert journal(tmp_path) == "runs.db"
    assert journal(tmp_path, MAVERICK_JOURNAL="") == "runs.db"
    assert journal(tmp_path, MAVERICK_JOURNAL="mine.db") == "mine.db"
    given = load_config(tmp_path, tmp_path, {"MAVERICK_JOURNAL": "mine.db"}, {"journal": "given.db"})
    assert given.journal.get_secret_value() == "given.db"


@pytest.mark.parametrize("value", ["5", "[a]", "{a: b}", "''", "yes"])
def test_a_value_that_is_no_place_is_refused_by_name(tmp_path: Path, value: str) -> None:
    (tmp_path / "maverick.yaml").write_text(f"journal: {value}")
    with pytest.raises(ConfigError, match="journal: expected a path or a postgresql:// address") as caught:
        load_config(tmp_path, tmp_path, {"MAVERICK_TRUST": str(tmp_path)})
    assert (caught.value.field, caught.value.source) == ("journal", str(tmp_path / "maverick.yaml"))


def test_a_misspelt_name_is_refused_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "maverick.yaml").write_text("jornal: runs.db")
    with pytest.raises(ConfigError, match=r"Did you mean 'journal'\?"):
        load_config(tmp_path, tmp_path, {})


def test_a_project_may_not_choose_a_database_for_a_persons_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lookout.plant(tmp_path / "maverick.yaml", f"journal: {ADDRESS}")

    config = load_config(tmp_path, tmp_path, {})

    assert (config.journal.get_secret_value(), config.ignored) == (DEFAULT_JOURNAL, ("journal",))
    assert "sets journal, which you have not trusted" in caplog.text
    assert CANARY not in caplog.text


def test_a_password_is_not_in_what_is_printed_dumped_or_described() -> None:
    config = MaverickConfig(journal=Secret(ADDRESS))

    for shown in (
        repr(config),
        str(config.journal),
        str(msgspec.to_builtins(config, enc_hook=str)),
        repr(config.describe({})),
    ):
        assert CANARY not in shown


def test_a_path_is_described_with_its_source(tmp_path: Path) -> None:
    described = load_config(tmp_path, tmp_path, {"MAVERICK_JOURNAL": "mine.db"}).describe({})

    assert Setting("journal", "mine.db", "MAVERICK_JOURNAL") in described
    assert Setting("journal", DEFAULT_JOURNAL, "default") in MaverickConfig().describe({})


def test_a_command_that_is_suggested_does_not_repeat_a_password(tmp_path: Path) -> None:
    done = run("runs", "show", "r", "--journal", f"mysql://ana:{CANARY}@db.example.com/runs", home=tmp_path)

    assert done.returncode == 2
    assert CANARY not in done.stdout + done.stderr
