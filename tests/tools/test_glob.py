"""Patterns with wildcards."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maverick.tools.permissions.rule import PathGlob, TextGlob


@pytest.mark.requirement("C-PERMISSIONS")
@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/deep/a.py", True),
        ("docs/**", "docs", True),
        ("docs/**", "docs/a/b", True),
        ("docs/**", "docsy/a", False),
        ("docs/*", "docs/a/b", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("**", "any/thing", True),
        ("?.txt", "a.txt", True),
        ("?.txt", "/.txt", False),
        ("https://*.example.org/**", "https://www.example.org/a/b", True),
        ("https://*.example.org/**", "https://evil.test/x.example.org/", False),
        (".env", ".ENV", False),
    ],
)
def test_a_star_stops_at_a_slash_and_two_stars_do_not(pattern: str, path: str, matches: bool) -> None:
    assert PathGlob(pattern).matches(path) is matches


@pytest.mark.requirement("C-PERMISSIONS")
def test_letters_may_be_taken_for_each_other_where_a_disk_does() -> None:
    assert PathGlob("**/.env", ignore_case=True).matches("a/.ENV")
    assert TextGlob("rm *", ignore_case=True).matches("RM -rf .")


signs = st.text(st.sampled_from("ab*?."), max_size=8)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(pattern=signs, text=st.text(st.sampled_from("ab."), max_size=12))
def test_text_patterns_mean_what_the_standard_library_means_by_them(pattern: str, text: str) -> None:
    assert TextGlob(pattern).matches(text) is fnmatch.fnmatchcase(text, pattern)


@pytest.mark.parametrize(
    "glob", [TextGlob("*a*a*a*a*a*a*b"), PathGlob("**/a*/**/a*/**/*a*a*a*b")], ids=["text", "path"]
)
def test_no_pattern_takes_longer_than_its_text_is_long(glob: TextGlob | PathGlob) -> None:
    assert not glob.matches("a" * 20_000)
    assert not glob.matches("a/" * 3_000 + "a")


def test_folders_that_are_passed_again_and_again_are_passed_once() -> None:
    glob = PathGlob("**/" * 20_000 + "x")

    assert glob.matches("a/b/x")
    assert not any(glob.matches(f"a/b/{number}") for number in range(1000))
