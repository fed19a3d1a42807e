"""Cases in YAML: what can be written, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from evals.weather import REPORTER, executor
from maverick.evals import Judge, evaluate, load_cases
from maverick.exceptions import InvalidInputError

EVERYTHING = """
agent: reporter
checks:
  max_turns: 5
cases:
  - name: brest
    inputs: {city: Brest}
    checks:
      - equals: It is sunny in Brest.
      - contains: sunny
      - contains: [sunny, Brest]
        not_contains: rain
      - matches: "sunny in \\\\w+"
      - calls: get_weather
      - calls: {tool: get_weather, arguments: {city: Brest}}
      - not_calls: {tool: send_mail}
      - max_cost: 1
      - ends: complete
      - function: own_checks.py:is_short
  - name: lyon
    inputs: {city: Lyon}
    min_pass_rate: 0.5
    checks: {contains: Lyon, max_turns: 2}
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "cases.yaml"
    file.write_text(dedent(text).strip() + "\n", encoding="utf-8")
    return file


@pytest.mark.requirement("EVAL-CHECKS")
async def test_every_check_can_be_written_in_yaml(tmp_path: Path) -> None:
    (tmp_path / "own_checks.py").write_text("def is_short(result):\n    return len(result.output) < 100\n")
    cases = load_cases(write(tmp_path, EVERYTHING))

    report = await evaluate(REPORTER, cases, executor=executor())

    assert report.passed, report
    assert [len(case.attempts[0].checks) for case in report.cases] == [12, 3]
    assert cases[1].min_pass_rate == 0.5


@pytest.mark.requirement("EVAL-JUDGE", "EVAL-RECORDED")
def test_judges_prompts_and_recorded_runs_are_written_in_yaml_too(tmp_path: Path) -> None:
    text = """
        cases:
          - {name: a, prompt: "Hello?", checks: {judge: Is polite.}}
          - {name: b, run: run_1, checks: {schema: {type: object}}}
    """
    asked, recorded = load_cases(write(tmp_path, text))

    assert asked.inputs == {"prompt": "Hello?"}
    assert asked.checks == [Judge("Is polite.")]
    assert (recorded.run, recorded.inputs) == ("run_1", None)


@pytest.mark.requirement("EVAL-INPUT")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cases:\n  - name: [", "line 3: this is not valid YAML"),
        ("- name: a", "line 1: Expected names with values, got a list"),
        ("agent: x", "line 1: cases is missing"),
        ("cases:\n  - name: a\n  - prompt: b", r"line 3: cases\[1\]: name is missing"),
        ("cases:\n  - name: 3", r"line 2: cases\[0\].name: Expected text, got a whole number"),
        (
            "cases:\n  - name: a\n    checks:\n      - contain: sunny",
            r"line 4: cases\[0\].checks\[0\].contain: There is no field named 'contain'. Did you mean 'contains'\?",
        ),
        ("cases:\n  - name: a\n    input: {}", r"line 3: .*Did you mean 'inputs'\?"),
        (
            "cases:\n  - name: a\n    checks:\n      - max_turns: few",
            r"line 4: cases\[0\].checks\[0\].max_turns: Expected a whole number, got text",
        ),
        (
            "cases:\n  - name: a\n    checks: 3",
            "line 3: .*Expected names with values or a list, got a whole number",
        ),
        ("cases:\n  - name: a\n    checks:\n      - matches: (", r"line 4: .*not a regular expression"),
        ("cases:\n  - name: a\n    checks: {function: polite}", "line 3: .*expected FILE.py:NAME"),
        ("cases:\n  - name: a\n    checks: {function: gone.py:polite}", "line 3: .*There is no Python file"),
        ("cases:\n  - name: a\n    run: b\n    prompt: c", r"line 2: cases\[0\]: .*its own inputs"),
        ("cases:\n  - name: a\n    checks:\n      contains: b\n      contains: c", "line 5: .*written twice"),
        ("cases:\n  - &a {name: a}\n  - *a", "aliases are not supported"),
        ("cases:\n  - name: a\n    inputs: {day: 2026-99-99}", "line 1: this is not valid YAML"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_field(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=f"cases.yaml, {problem}" if "line" in problem else problem):
        load_cases(write(tmp_path, text))


@pytest.mark.requirement("EVAL-INPUT")
def test_a_missing_or_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"gone.yaml could not be read: No such file"):
        load_cases(tmp_path / "gone.yaml")
    with pytest.raises(InvalidInputError, match="larger than 4 MiB"):
        load_cases(write(tmp_path, "#" * (5 * 1024 * 1024)))
