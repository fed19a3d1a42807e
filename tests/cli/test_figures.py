from __future__ import annotations

import pytest

from maverick.cli.formatting import age, counted, duration, money


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "0 ms"),
        (0, "0 ms"),
        (0.0123, "12 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (2.14, "2.1 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (75, "1 min 15 s"),
        (3599.6, "1 h 0 min"),
        (7260, "2 h 1 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_a_duration_has_one_or_two_units(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0 s"), (12.4, "12 s"), (60, "1 min"), (7199, "1 h"), (86_400 * 30.5, "30 d")],
)
def test_an_age_has_its_largest_unit(seconds: float, shown: str) -> None:
    assert age(seconds) == shown


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, "?"), (0, "$0"), (0.00123, "$0.0012"), (0.5, "$0.5000"), (1234.5, "$1,234.50")],
)
def test_money_has_as_many_digits_as_matter(dollars: float | None, shown: str) -> None:
    assert money(dollars) == shown


def test_one_thing_is_not_many() -> None:
    assert [counted(number, "turn") for number in (0, 1, 1000)] == ["0 turns", "1 turn", "1,000 turns"]
