"""What is written where: answers to standard output, remarks to standard error, colours only on a terminal."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Self, TextIO

from maverick.exceptions import MaverickError
from maverick.tui.plain_text import one_line, printable

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def open_closed_streams() -> None:
    """Open standard streams that the parent process has closed on the null device.

    Otherwise the next file that is opened gets the stream's number, and output ends up in that file.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            point_nowhere(number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays


def accept_all_characters() -> None:
    """Replace characters that the terminal's encoding lacks, and accept input bytes that are not text."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.closed:
            stream.reconfigure(errors="replace")


def write_out(stream: TextIO, text: str) -> None:
    """Write a text and flush it; that a pipe was closed by its reader is raised as it is."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise MaverickError(
            f"The output could not be written: {error.strerror}. Free some space, or write it elsewhere."
        ) from error


def forget_unwritten() -> None:
    """Drop output that cannot be written, which Python would complain about when it exits."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # already reported, or there is nowhere to report it
            point_nowhere(stream.fileno())


def point_nowhere(number: int) -> None:
    """Have a file descriptor read and write the null device."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere == number:
        os.set_inheritable(number, True)
    else:
        os.dup2(nowhere, number)
        os.close(nowhere)


_LONGEST_REMARK = 200

_DIM, _RED, _BOLD = "2", "31", "1"
_DIFF = {"+": "32", "-": _RED, "@": "36"}


class Screen:
    """Writes answers and remarks.

    Text from a model or a tool may hold anything, so control characters are removed from it: they could move the
    cursor, change the window's title, or hide or turn round what was written.
    """

    def __init__(self, answers: TextIO, remarks: TextIO, *, colour: bool) -> None:
        self._answers = answers
        self._remarks = remarks
        self._colour = colour
        self.mid_line = False
        """Whether the last thing said has not ended its line."""

    @classmethod
    def of_process(cls, *, interactive: bool = False, environ: Mapping[str, str] | None = None) -> Self:
        """The screen of this process; without a user at the keyboard, remarks go to standard error."""
        environ = os.environ if environ is None else environ
        plain = environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
        remarks = sys.stdout if interactive else sys.stderr
        return cls(sys.stdout, remarks, colour=remarks.isatty() and not plain)

    @property
    def is_terminal(self) -> bool:
        """Whether answers are shown on a terminal that can draw."""
        return self._answers.isatty() and os.environ.get("TERM") != "dumb"

    def draw(self, text: str) -> None:
        """Write text with control sequences of our own, which leaves the cursor at the beginning of a line."""
        write_out(self._answers, text)
        self.mid_line = False

    def say(self, text: str) -> None:
        """Write some of an answer."""
        if not text:
            return
        write_out(self._answers, printable(text))
        self.mid_line = not text.endswith("\n")

    def remark(self, text: str) -> None:
        """Write a line about what is going on."""
        self._line(text, _DIM)

    def headline(self, text: str) -> None:
        """Write a line that stands out."""
        self._line(text, _BOLD)

    def diff(self, lines: Iterable[str]) -> None:
        """Write the lines of a unified diff."""
        for line in lines:
            self._line(f"  {line}", _DIFF.get(line[:1], "0"))

    def quote(self, lines: Iterable[str]) -> None:
        """Write lines of something else, such as a command, set off from the rest."""
        for line in lines:
            self._line(f"    {line}", "0")

    def complain(self, text: str) -> None:
        """Write a line about what went wrong, and one line only."""
        self._line(one_line(text), _RED)

    def prompt(self, text: str) -> None:
        """Write what a person is to answer, and stay on its line."""
        self.end_line()
        write_out(self._remarks, printable(text))

    def end_line(self) -> None:
        """Begin a new line, unless the last thing written did."""
        if self.mid_line:
            write_out(self._answers, "\n")
            self.mid_line = False

    def _line(self, text: str, style: str) -> None:
        self.end_line()
        text = printable(text)
        write_out(self._remarks, f"\033[{style}m{text}\033[0m\n" if self._colour else f"{text}\n")


def whole_call(name: str, arguments: Mapping[str, Any]) -> str:
    """A tool call as one would write it, with nothing in it that could be overlooked."""
    written = (f"{key if key.isidentifier() else repr(key)}={value!r}" for key, value in arguments.items())
    return f"{name}({', '.join(written)})"


def shown_call(name: str, arguments: Mapping[str, Any]) -> str:
    """A tool call on one line, cut off when it is long."""
    return shortened(whole_call(name, arguments))


def shortened(text: str) -> str:
    """The text on one line, cut off when it is long."""
    line = one_line(text)
    return line if len(line) <= _LONGEST_REMARK else f"{line[:_LONGEST_REMARK]}…"
