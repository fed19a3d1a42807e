"""``maverick completion``: what shells complete, asked of a real one where it is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import environment
from cli.folder import Folder
from maverick.cli.main import COMMANDS
from programs import require

ASK_BASH = """
source /dev/stdin
maverick() { "$PYTHON" -m maverick "$@"; }
COMP_LINE=$1
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { :; }
_maverick
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    with pytest.MonkeyPatch.context() as monkeypatch:
        return Folder(tmp_path_factory.mktemp("bash"), monkeypatch).main("completion", "bash").stdout


def completed(script: str, folder: Path, *words: str) -> list[str]:
    """What bash offers for the last of the words, which it splits at colons, or for the rest of it."""
    line = " ".join(["maverick", *words])
    parts = [part for word in words for part in re.split("(:)", word) if part or part == word]
    done = subprocess.run(  # noqa: S603 - our own script
        ["/bin/bash", "--norc", "-c", ASK_BASH, "bash", line, "maverick", *parts],
        input=script,
        capture_output=True,
        text=True,
        env=environment(folder, PYTHON=sys.executable),
        cwd=folder,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.requirement("007-COMPLETION")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["do"], ["doctor"]),
        (["runs", "re"], ["resume", "replay"]),
        (["runs", "resume", "some-run", "--ou"], ["--output-schema"]),
        (["run", "--max-t"], ["--max-turns", "--max-tokens", "--max-tool-calls"]),
        (["--debug", "config", ""], ["show", "get", "path", "set", "unset", "init"]),
        (["completion", "z"], ["zsh"]),
        (["agents", "new", "x", "--py"], ["--python"]),
        (["run", "--model", "runs", "--js"], ["--json"]),
        (["run", "--model", "offline:", "--js"], ["--json"]),
    ],
)
def test_bash_offers_commands_and_options(
    words: list[str], offered: list[str], script: str, tmp_path: Path
) -> None:
    assert completed(script, tmp_path, *words) == offered


@pytest.mark.requirement("007-COMPLETION")
def test_bash_offers_the_names_of_agents_runs_and_models(script: str, folder: Folder) -> None:
    folder.main("agents", "new", "geographer")
    folder.main("run", "-p", "hello there", "--run-id", "greeting")

    assert completed(script, folder.path, "run", "ge") == ["general", "geographer"]
    assert completed(script, folder.path, "runs", "show", "gr") == ["greeting"]
    assert "claude:claude-opus-5-5" in completed(script, folder.path, "run", "--model", "claude")
    assert "claude-opus-5-5" in completed(script, folder.path, "run", "--model", "claude:")
    assert "claude-opus-5-5" in completed(script, folder.path, "run", "--model", "claude:claude-op")


def test_a_name_that_bash_would_run_is_not_offered(script: str, folder: Folder) -> None:
    folder.main("run", "-p", "hello", "--run-id", "$(touch owned)x")
    folder.main("run", "-p", "hello", "--run-id", "harmless")

    assert completed(script, folder.path, "runs", "show", "") == ["harmless"]
    assert not (folder.path / "owned").exists()


def test_every_command_is_in_every_script(folder: Folder) -> None:
    for shell in ("bash", "zsh", "fish"):
        text = folder.main("completion", shell).stdout
        assert [command.name for command in COMMANDS if command.name not in text] == []
        assert "output-schema" in text
        assert "maverick agents list --names" in text


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_shell_accepts_its_script(shell: str, folder: Folder) -> None:
    program = require(shell)
    script = folder.main("completion", shell).stdout

    done = subprocess.run([program, "-n"], input=script, text=True, capture_output=True, check=False)  # noqa: S603 - the shell itself

    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_shell_is_refused(folder: Folder) -> None:
    assert "no choice named 'tcsh'" in folder.refuse("completion", "tcsh")
