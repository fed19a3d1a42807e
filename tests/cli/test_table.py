from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from maverick.cli.formatting import Column, fitted, lay_out, width_of

NAME, NUMBER, REMARK = Column("NAME"), Column("NUMBER", right=True), Column("REMARK", shrinks=True)


def test_text_begins_and_figures_end_at_the_same_place() -> None:
    assert list(lay_out([NAME, NUMBER], [("a", "1"), ("bbbbbb", "1,000,000")], 80)) == [
        "NAME       NUMBER",
        "a               1",
        "bbbbbb  1,000,000",
    ]


def test_what_may_be_cut_off_is_cut_off_first() -> None:
    assert list(lay_out([NAME, REMARK], [("a-rather-long-name", "a remark that goes on")], 30)) == [
        "NAME                REMARK",
        "a-rather-long-name  a remark …",
    ]


def test_everything_else_is_cut_off_only_when_nothing_else_helps() -> None:
    assert list(lay_out([NAME, REMARK], [("x" * 100, "remark")], 20)) == [
        "NAME            REM…",
        "xxxxxxxxxxxxx…  rem…",
    ]


def test_a_cell_is_one_line_without_control_characters_and_keeps_its_indent() -> None:
    assert list(lay_out([NAME], [("  two\n\tlines\x1b[2J",)], 80)) == ["NAME", "  two lines[2J"]


def test_wide_and_combining_characters_are_counted_as_they_are_shown() -> None:
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1
    assert fitted("日本語", 5) == "日本…"
    assert list(lay_out([NAME, NUMBER], [("日本", "1"), ("abcd", "2")], 80))[1:] == [
        "日本       1",
        "abcd       2",
    ]


@given(
    st.lists(st.tuples(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300)), max_size=5),
    st.integers(1, 200),
)
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, str, str]], width: int) -> None:
    for line in lay_out([NAME, NUMBER, REMARK], rows, width):
        assert width_of(line) <= width
        assert "\n" not in line
