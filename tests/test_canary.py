"""The canary is seen wherever it gets out: small test runs with leaks in them, which have to fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from canary import CANARY

TESTS = Path(__file__).parent

LEAKS = """
import base64, json, logging, sqlite3, sys
from urllib.parse import quote

import pytest
from canary import CANARY, lookout
from maverick.exceptions import ConfigError, ToolError
from maverick.telemetry import log


def test_file(tmp_path):
    (tmp_path / "plain.txt").write_text(f"the key is {CANARY}.")
    (tmp_path / "cut.txt").write_text(f"the key is {CANARY[:-8]}...")
    (tmp_path / "end.txt").write_text(f"the key is ...{CANARY[-20:]}")
    (tmp_path / "run.jsonl").write_text(json.dumps({"said": f'"{CANARY}"\\n'}))
    (tmp_path / "address.txt").write_text(quote(f"https://host/?key={CANARY}&more", safe=""))
    for before in range(3):
        (tmp_path / f"{before}.b64").write_bytes(base64.b64encode(f"{'u' * before}{CANARY}:".encode()))
    (tmp_path / "hex.txt").write_text(CANARY.encode().hex())
    (tmp_path / "HEX.txt").write_text(CANARY.encode().hex().upper())


def test_database(tmp_path):
    pytest.kept = sqlite3.connect(tmp_path / "open.db")
    pytest.kept.execute("PRAGMA journal_mode = WAL")
    pytest.kept.execute("CREATE TABLE told (words TEXT)")
    pytest.kept.execute("INSERT INTO told VALUES (?)", (CANARY,))
    pytest.kept.commit()


def test_printed():
    print(CANARY)


def test_complained():
    print(CANARY, file=sys.stderr)


def test_captured(capsys):
    print(CANARY)
    capsys.readouterr()


def test_logged():
    log(logging.WARNING, "asked", {"headers": {"x-api-key": CANARY}})


def test_error():
    with pytest.raises(ConfigError):
        raise ConfigError(f"The key {CANARY} is wrong.")


def test_raised_from():
    with pytest.raises(ConfigError):
        try:
            int(CANARY)
        except ValueError as error:
            raise ConfigError("The key is wrong.") from error


def test_caused_by():
    ToolError("It failed.", cause=ValueError(CANARY))


def test_shown():
    lookout.look("the output of a command", CANARY)
"""

CLEAN = """
import os
from canary import CANARY, lookout

def test_planted(tmp_path):
    lookout.plant(tmp_path / "home" / "config.yaml", f"agent: {{api_key: {CANARY}}}")
    assert os.environ["OPENAI_API_KEY"] == CANARY
"""


def run_inner(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run tests with a canary of their own."""
    (folder / "test_inner.py").write_text(tests, encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if value != CANARY}
    return subprocess.run(  # noqa: S603 - pytest, on what is written above
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "xdist",
            "-p",
            "canary",
            "--basetemp",
            str(folder / "base"),
            *options,
        ],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


@pytest.mark.requirement("P9-CANARY")
def test_a_secret_that_gets_out_of_a_worker_fails_the_test_run_and_every_place_is_named(
    tmp_path: Path,
) -> None:
    done = run_inner(tmp_path, LEAKS, "-n", "1")

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "10 passed" in done.stdout
    assert "failed" not in done.stdout
    _, told = done.stdout.split(" the canary got out ")
    for place in (
        "plain.txt: plain, at byte 18",
        "cut.txt: plain, at byte 18",
        "end.txt: plain, at byte 14",
        "run.jsonl: plain",
        "address.txt: plain",
        "0.b64: base64",
        "1.b64: base64",
        "2.b64: base64",
        "hex.txt: hex",
        "HEX.txt: hex",
        "open.db-wal: plain",
        "Captured stdout call of test_inner.py::test_printed",
        "Captured stderr call of test_inner.py::test_complained",
        "what was captured, in test_inner.py::test_captured",
        "a log record, in test_inner.py::test_logged",
        "an error, in test_inner.py::test_error",
        "what an error was raised from, in test_inner.py::test_raised_from",
        "an error, in test_inner.py::test_caused_by",
        "the output of a command, in test_inner.py::test_shown",
    ):
        assert place in told


@pytest.mark.requirement("P9-CANARY")
def test_a_file_that_a_test_put_the_secret_into_is_no_leak(tmp_path: Path) -> None:
    done = run_inner(tmp_path, CLEAN)

    assert done.returncode == 0, done.stdout
    assert "canary" not in done.stdout


@pytest.mark.requirement("P9-CANARY")
def test_a_secret_in_a_file_that_nobody_planted_is_a_leak_though_another_was(tmp_path: Path) -> None:
    copy = '    (tmp_path / "copy.yaml").write_bytes((tmp_path / "home" / "config.yaml").read_bytes())\n'

    done = run_inner(tmp_path, CLEAN + copy)

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "copy.yaml: plain" in done.stdout
    assert "home/config.yaml" not in done.stdout
