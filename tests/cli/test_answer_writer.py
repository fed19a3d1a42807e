"""Markdown as it streams onto a terminal: however it is cut up, the same is seen in the end."""

from __future__ import annotations

import io
import random
import re
import sys

import pytest

from maverick.cli.event_printer import AnswerWriter
from maverick.cli.screen import Screen

ANSWER = """\
A plain paragraph, which streams as it comes and is long enough to reach the edge of a terminal of eighty columns.
It has a second line.

One with **bold** words, `code` and a [link](https://example.org/x), which is also long enough to be wrapped somewhere.

## A heading

1. First
2. Second *item*
   - nested

3. Third

```python
def hello(name):

    return name
```
After the code: \x1b[2Jsnake_case.

| Name | Value |
|------|------:|
| a | 1 |
| a much longer name | 1000 |

> A quote

Done.
"""
SEEN = """\
A plain paragraph, which streams as it comes and is long enough to reach the edg
e of a terminal of eighty columns.
It has a second line.

One with bold words, code and a link (https://example.org/x), which is also long
enough to be wrapped somewhere.

A heading

 1 First
 2 Second item
    • nested
 3 Third

 def hello(name):

     return name
After the code: [2Jsnake_case.

 Name                Value
 ─────────────────────────
 a                       1
 a much longer name   1000

▌ A quote

Done.
"""
COLUMNS = 80


class Paper(io.StringIO):
    """A terminal of endless height, which knows the control sequences that answers are drawn with."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = [""]
        self._row = self._column = 0

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        for control, sign in re.findall(r"(\x1b\[\d*[A-Za-z]|\x1b\[[\d;]*m)|(.)", text, re.DOTALL):
            if control.endswith("A"):
                self._row -= int(control[2:-1])
                assert self._row >= 0
            elif control.endswith("J"):
                del self.rows[self._row + 1 :]
                self.rows[self._row] = self.rows[self._row][: self._column]
            elif sign == "\r":
                self._column = 0
            elif sign == "\n":
                self._next_row()
            elif sign:
                if self._column == COLUMNS:
                    self._next_row()
                self.rows[self._row] = self.rows[self._row][: self._column] + sign
                self._column += 1
        return len(text)

    def _next_row(self) -> None:
        self._row, self._column = self._row + 1, 0
        if self._row == len(self.rows):
            self.rows.append("")


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.mark.parametrize("seed", range(4))
def test_however_an_answer_is_cut_up_the_same_is_seen(seed: int) -> None:
    paper, chance, rest = Paper(), random.Random(seed), ANSWER
    writer = AnswerWriter(Screen(paper, sys.stderr, colour=False))

    while rest:
        size = chance.choice((1, 2, 7, 40)) if seed else len(rest)
        writer.write(rest[:size])
        rest = rest[size:]
    writer.finish()

    assert "\n".join(row.rstrip() for row in paper.rows) == SEEN


def test_a_long_block_stays_as_it_was_drawn_but_for_its_last_lines() -> None:
    paper = Paper()
    writer = AnswerWriter(Screen(paper, sys.stderr, colour=False))

    writer.write("".join(f"- item **{number}**\n" for number in range(100)))

    assert sum("item" in row for row in paper.rows) == 100
    writer.write("- last\n")
    writer.finish()
    assert [row for row in paper.rows if row.strip()][-1] == " • last"
    assert sum("item" in row for row in paper.rows) == 100


def test_a_pipe_gets_the_text_as_it_is() -> None:
    out = io.StringIO()
    writer = AnswerWriter(Screen(out, sys.stderr, colour=False))

    writer.write("**bold** and\n\n| a |")
    writer.finish()

    assert out.getvalue() == "**bold** and\n\n| a |\n"


@pytest.mark.parametrize(
    "address", ["https://e/%1b]52;c;eA==%1b%5c%1b[2J", "https://e/%c2%9b2J%07%0d", "https://e/%e2%80%ae"]
)
@pytest.mark.parametrize("form", ["**x** <{}>\n", "| a |\n|---|\n| <{}> |\n", "[a]({})\n"])
def test_nothing_that_was_encoded_reaches_the_terminal_as_a_control_character(
    form: str, address: str
) -> None:
    paper = Paper()
    writer = AnswerWriter(Screen(paper, sys.stderr, colour=False))

    writer.write(form.format(address) + "**y** &#x202e;&#27;[2J")
    writer.finish()

    drawn = "".join(paper.rows)
    assert "https://e/" in drawn
    assert re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", drawn) is None


def test_a_table_of_more_cells_than_text_stays_as_it_was_written() -> None:
    paper = Paper()
    writer = AnswerWriter(Screen(paper, sys.stderr, colour=False))

    writer.write("|" + "a|" * 12 + "\n|" + "-|" * 12 + "\n" + "|\n" * 600)
    writer.finish()

    assert [row.strip() for row in paper.rows].count("|") == 600
