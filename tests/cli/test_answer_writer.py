"""Markdown as it streams onto a terminal: however it is cut up, the same is seen in the end."""

from __future__ import annotations

import io
import random
import re
import sys

import pytest

from maverick.cli.answer_writer import AnswerWriter
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
