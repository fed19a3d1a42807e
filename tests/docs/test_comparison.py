"""The page that compares Maverick with others says what is in the repository."""

from __future__ import annotations

import pytest

from docs.documents import ROOT, run_python


@pytest.mark.requirement("F-TWINS")
def test_no_example_is_more_than_a_tenth_longer_than_its_twin_and_the_page_says_how_long_both_are() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")

    counted = run_python(ROOT / "benchmarks" / "twins" / "count.py", cwd=ROOT).stdout

    assert counted in page, f"docs/comparison.md has other figures than these:\n{counted}"
    programs = [row.strip("|").split("|") for row in counted.splitlines()[2:-1]]
    assert len(programs) == 12
    for program, ours, twin in programs:
        assert int(ours) <= 1.1 * int(twin), program
