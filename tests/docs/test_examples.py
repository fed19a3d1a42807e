"""Each example runs as a program of its own, offline, and shows what it is there to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.documents import ROOT, run_python

EXAMPLES = {
    "hello.py": ["42", "2 turns"],
    "weather_report.py": [
        "→ get_weather({'city': 'Brest'})",
        "← rain, 14 °C",
        "complete: Report(",
        "['Brest']",
    ],
    "subagents.py": [
        "editor calls researcher {'topic': 'tides'}",
        "    editor/researcher calls look_up {'topic': 'winds'}",
        "editor ends after 2 turns: complete",
        "Three facts about tides. Three facts about winds.",
        "6 model calls",
    ],
    "limits_and_abort.py": ["max_turns: ", "max_tool_calls: ", "timeout: ", "aborted: ", "seen enough"],
    "own_agent.py": ["Maverick", "1 turn, 42 tokens"],
    "custom_client.py": ["(attempt 2 in 0.05 s)", "LAND AHEAD!", "11 tokens for $0.000032"],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_offline_and_shows_what_it_is_there_to_show(name: str, tmp_path: Path) -> None:
    ran = run_python(ROOT / "examples" / name, cwd=tmp_path)

    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    for expected in EXAMPLES[name]:
        assert expected in ran.stdout


def test_no_example_is_left_out() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)
