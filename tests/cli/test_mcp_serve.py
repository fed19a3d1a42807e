"""``maverick mcp serve``: what it wants to know before it serves. ``tests/chat/test_serving.py`` uses it over stdio."""

from __future__ import annotations

from pathlib import Path

import pytest

from maverick.cli.main import main


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_over_http_it_wants_to_know_who_may_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "serve", "--port", "8700"]) == 2
    assert "--tokens: name a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("ana\n", "line 1: expected “user token”"),
        ("# nobody\n", "expected at least one"),
        ("ana short\n", "16 characters or more"),
    ],
)
def test_a_file_of_tokens_that_is_not_right_is_told(
    text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tokens").write_text(text)

    assert main(["mcp", "serve", "--port", "8700", "--tokens", "tokens"]) != 0
    assert complaint in capsys.readouterr().err


def test_a_file_of_tokens_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "serve", "--port", "8700", "--tokens", "none"]) != 0
    assert "none cannot be read" in capsys.readouterr().err


def test_alone_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp"]) == 0
    assert "serve" in capsys.readouterr().out
