from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import maverick
from cli.command import run
from maverick.cli import main as command_line
from maverick.cli.main import main
from maverick.config.installation import install_command
from scripts import run_python

Complaint = Callable[..., str]

NOT_NEEDED = (
    "maverick.runtime",
    "maverick.journal",
    "maverick.loop",
    "asyncio",
    "msgspec",
    "pydantic",
    "aiohttp",
)


@pytest.fixture
def complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Complaint:
    """Runs a command that must end with 2, and returns the one line it writes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def complain(*arguments: str) -> str:
        assert main(arguments) == 2
        written = capsys.readouterr()
        assert written.out == ""
        assert re.fullmatch(r"maverick: .+\n", written.err)
        return written.err

    return complain


def test_without_a_command_it_shows_what_there_is(tmp_path: Path) -> None:
    done = run(home=tmp_path)

    assert done.returncode == 0
    assert "chat" in done.stdout


def test_it_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"maverick {maverick.__version__}\n"


def test_a_mistyped_command_is_told_which_one_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["chatt"]) == 2
    assert "Did you mean 'chat'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        ["chatt"],
        ["chat", "--modle", "x"],
        ["chat", "--mod", "x"],
        ["--nonsense"],
        ["runs", "lst"],
        ["runs", "list", "--nonsense"],
        ["agents", "lst"],
        ["run", "--nonsense"],
        ["config", "shw"],
    ],
)
def test_a_wrong_command_or_option_is_named_in_a_line_and_ends_with_2(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(wrong) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert wrong[-1] in line
    assert line.endswith(" --help")


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "runs --help",
        "runs resume --help",
        "runs",
        "run --help",
        "agents new --help",
        "config",
        "doctor --help",
        "completion --help",
    ],
)
@pytest.mark.requirement("F-IMPORT")
def test_help_loads_neither_the_runtime_nor_anything_else_it_does_not_need(words: str) -> None:
    loaded = run_python(
        f"""
        import sys
        from maverick.cli.main import main
        main({words.split()!r})
        print("LOADED", *(name for name in {NOT_NEEDED!r} if name in sys.modules))
        """
    )

    assert "usage: maverick" in loaded
    assert loaded.endswith("LOADED\n")


@pytest.mark.requirement("F-IMPORT")
def test_a_run_on_the_offline_model_loads_no_network_and_no_sdk(tmp_path: Path) -> None:
    loaded = run_python(
        f"""
        import os, sys
        os.environ.update(HOME={str(tmp_path)!r}, ANTHROPIC_API_KEY="", MAVERICK_AGENT_API_KEY="")
        os.chdir({str(tmp_path)!r})
        sys.stdin = open(os.devnull)
        from maverick.cli.main import main
        main(["run", "-p", "hello"])
        heavy = ("aiohttp", "yaml", "mcp", "claude_agent_sdk", "fastapi", "sqlmodel", "textual", "anthropic")
        print("LOADED", *(name for name in heavy if name in sys.modules))
        """
    )

    assert loaded.endswith("\nLOADED\n")


def test_the_journal_is_looked_at_without_the_settings_when_it_is_named(tmp_path: Path) -> None:
    loaded = run_python(
        f"""
        import sys
        from maverick.cli.main import main
        main(["runs", "list", "--journal", {str(tmp_path / "runs.db")!r}])
        print("LOADED", *(name for name in ("pydantic", "aiohttp", "yaml") if name in sys.modules))
        """
    )

    assert loaded == "LOADED\n"


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        ("claude", "Write it as 'claude:…'"),
        ("claude-sonnet-4-5", "Write it as 'claude:claude-sonnet-4-5'"),
        ("clade:sonnet", "Did you mean 'claude'?"),
        ("nowhere:model", "There is no provider named 'nowhere'"),
    ],
)
def test_an_unknown_model_is_one_line_of_advice(model: str, advice: str, complaint: Complaint) -> None:
    assert advice in complaint("chat", "--model", model)


def test_a_wrong_setting_of_the_environment_is_one_line_that_names_it(
    complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAVERICK_AGENT_TEMPERATURE", "hot")

    assert "MAVERICK_AGENT_TEMPERATURE" in complaint("chat")


def test_a_wrong_setting_in_a_file_is_one_line_that_names_it(complaint: Complaint, tmp_path: Path) -> None:
    (tmp_path / "maverick.yaml").write_text("agent:\n  modle: x\n")

    assert "maverick.yaml" in complaint("chat")


# Commands


@pytest.fixture
def joke(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A command of its own, as one is added."""
    module = ModuleType("maverick.cli.joking")
    vars(module)["add_joke"] = lambda parser: parser.set_defaults(command=module.tell)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    added = (
        *command_line.COMMANDS,
        command_line.Command("joke", "tell a joke", "tui", "joking"),
    )
    monkeypatch.setattr(command_line, "COMMANDS", added)
    return module


def test_a_command_is_a_line_and_a_module(joke: ModuleType) -> None:
    vars(joke)["tell"] = lambda options: 7

    assert main(["joke"]) == 7


@pytest.mark.requirement("007-ERRORS")
def test_a_command_whose_package_is_missing_says_what_to_install(
    joke: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def tell(options: object) -> int:
        raise ModuleNotFoundError("No module named 'jokes.good'", name="jokes.good")

    vars(joke)["tell"] = tell

    assert main(["joke"]) == 2
    assert capsys.readouterr().err == (
        "maverick: `maverick joke` needs the package 'jokes', which is not installed. "
        f"Run: {install_command('tui')}\n"
    )


@pytest.mark.requirement("007-ERRORS")
@pytest.mark.parametrize("words", [["joke"], ["--debug", "joke"], ["joke", "--debug"]])
def test_a_mistake_in_the_program_is_one_line_and_its_trace_is_shown_on_request(
    words: list[str], joke: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    vars(joke)["tell"] = lambda options: 1 / 0

    assert main(words) == 1
    *trace, line = capsys.readouterr().err.splitlines()
    assert line.startswith("maverick: ZeroDivisionError: division by zero. This is a bug")
    assert bool(trace) is ("--debug" in words)
