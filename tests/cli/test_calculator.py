from __future__ import annotations

import pytest

from maverick.cli.calculator import evaluate
from maverick.exceptions import ToolError


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("12 * 7", 84),
        (" (3 + 4) * 2 ", 14),
        ("2 ** 10", 1024),
        ("-3 - -4", 1),
        ("7 // 2 + 7 % 2", 4),
        ("1 / 4", 0.25),
        ("6 / 3", 2),
        ("16 ** 0.5", 4),
        ("1e3 + .5", 1000.5),
        ("0.1 + 0.2", 0.1 + 0.2),
        ("2 ** -1", 0.5),
    ],
)
def test_it_works_out_arithmetic(expression: str, value: float) -> None:
    assert evaluate(expression) == value


def test_whole_results_are_whole_numbers() -> None:
    assert isinstance(evaluate("6 / 3"), int)
    assert isinstance(evaluate("7 / 2"), float)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "[1] * 10",
        "'a' * 10",
        "True + 1",
        "1 if 2 else 3",
        "x + 1",
        "1 +",
        "1; 2",
        "",
        "(-8) ** 0.5",
        "1 @ 2",
        "~1",
        "1j * 2",
        "1 + \x00",
    ],
)
def test_anything_but_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(ToolError, match="is not arithmetic"):
        evaluate(expression)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("1 / 0", "divided by zero"),
        ("1 % 0", "divided by zero"),
        ("0 ** -1", "divided by zero"),
        ("9 ** 9 ** 9 ** 9", "too large"),
        ("-9 ** 99999", "too large"),
        ("2.0 ** 99999", "too large"),
        ("9 ** 999 * 9 ** 999", "too large"),
        ("1+" * 101 + "1", "longer than 200 characters"),
    ],
)
def test_what_has_no_answer_says_why(expression: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        evaluate(expression)


def test_deep_nesting_is_no_way_around() -> None:
    assert evaluate("(" * 99 + "1" + ")" * 99) == 1
    assert evaluate("-" * 198 + "1") == 1
