from __future__ import annotations

import io
import sys

import pytest

from maverick.cli.screen import Screen, shortened, shown_call, whole_call


class Monitor(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "shown"),
    [
        ({}, "\x1b[2mhm\x1b[0m\n"),
        ({"NO_COLOR": ""}, "\x1b[2mhm\x1b[0m\n"),
        ({"NO_COLOR": "1"}, "hm\n"),
        ({"TERM": "dumb"}, "hm\n"),
    ],
)
def test_colours_are_for_terminals_whose_owner_wants_them(
    environ: dict[str, str], shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monitor = Monitor()
    monkeypatch.setattr(sys, "stdout", monitor)

    Screen.of_process(interactive=True, environ=environ).remark("hm")

    assert monitor.getvalue() == shown


def test_remarks_begin_on_a_line_of_their_own() -> None:
    shown = io.StringIO()
    screen = Screen(shown, shown, colour=False)

    screen.say("half an ")
    screen.say("answer")
    screen.remark("a remark")
    screen.say("more\n")
    screen.end_line()
    screen.complain("a\ncomplaint")

    assert shown.getvalue() == "half an answer\na remark\nmore\na complaint\n"


def test_control_characters_are_not_shown_but_lines_and_tabs_are() -> None:
    shown = io.StringIO()
    screen = Screen(shown, shown, colour=False)

    screen.say("a\x1b[2J\tb\x9b1A\x07\r\n")
    screen.remark("\x1b]0;title\x07")
    screen.say("\u202etxt.exe\u2066\n")

    assert shown.getvalue() == "a[2J\tb1A\n]0;title\ntxt.exe\n"


def test_calls_and_results_take_one_line() -> None:
    assert shown_call("add", {"a": 1, "b": "x"}) == "add(a=1, b='x')"
    assert shortened("two\nlines") == "two lines"
    assert len(shortened("x" * 10_000)) < 250


def test_a_whole_call_hides_nothing() -> None:
    assert whole_call("send", {"to": "\u202eana\n", "b='', c": "x" * 500}) == (
        f"send(to='\\u202eana\\n', \"b='', c\"='{'x' * 500}')"
    )
