"""``maverick models``, and what is said of models that are retired."""

from __future__ import annotations

import pytest

from cli.folder import Folder
from maverick.cli import doctor

pytestmark = pytest.mark.requirement("MODELS-CATALOG")


def test_the_current_models_are_listed_with_their_prices(folder: Folder) -> None:
    done = folder.main("models")

    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert rows["claude:claude-opus-5-5"][:4] == ["1,000,000", "4", "20", "0.2"]
    assert rows["claude:claude-fable-5-2"][:4] == ["1,000,000", "?", "?", "?"]
    assert rows["claude:claude-sonnet-4-5"][4] == "2026-11-30"
    assert "openai:gpt-6.1-sol" in rows
    assert len(rows) < 50
    assert "openai:gpt-4o-2024-05-13" not in rows, "it is retired"
    assert "US dollars per million tokens, as of 20" in done.stderr


def test_list_is_no_pattern(folder: Folder) -> None:
    assert folder.main("models", "list").stdout == folder.main("models").stdout


@pytest.mark.parametrize("pattern", ["grok-4.7", "x-ai/grok-4.?", "x-ai/*"])
def test_a_pattern_finds_the_models_of_any_vendor(pattern: str, folder: Folder) -> None:
    found = folder.json("models", pattern)

    (grok,) = [model for model in found if model["model"] == "x-ai/grok-4.7"]
    assert (grok["context_window"], grok["price"]["input"]) == (500_000, 2.0)
    assert "needs_price" not in grok


def test_a_pattern_without_a_match_is_said(folder: Folder) -> None:
    done = folder.main("models", "nosuch")

    assert (done.returncode, done.stdout) == (2, "")
    assert "No model matches 'nosuch'." in done.stderr


def test_a_model_that_is_retired_is_said_by_the_doctor_and_by_a_run(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_claude_cli", lambda: None)  # it takes a second to tell its version
    folder.set("ANTHROPIC_API_KEY", "k")
    folder.set("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    folder.write("maverick.yaml", "agent: {model: claude-opus-4-0}\n")

    found = folder.main("doctor", "--json")
    done = folder.main("run", "--no-journal", "--timeout", "5s", "-p", "hi")

    notice = "claude:claude-opus-4-0 was retired on 2026-06-15. Use claude-opus-5-5 in its place."
    assert found.returncode == 1
    assert notice in found.stdout
    assert f"({notice})" in done.stderr
