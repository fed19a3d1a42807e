"""The standard streams of the process, which may be closed, full, or read by nobody."""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from maverick.exceptions import MaverickError

_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def open_closed_streams() -> None:
    """Open on nothing what whoever started the process has closed.

    Else there is no such stream, and a file that is opened next takes its place: what is said then gets into it.
    """
    for number, (name, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            _point_nowhere(number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays


def accept_all_characters() -> None:
    """Show a replacement for what the terminal's encoding does not have, and accept bytes that are no text."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.closed:
            stream.reconfigure(errors="replace")


def write_out(stream: TextIO, text: str) -> None:
    """Write a text, and see it out.

    Raises:
        BrokenPipeError: Whoever read it has seen enough.
        MaverickError: It can not be written.
    """
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise MaverickError(
            f"The output could not be written: {error.strerror}. Make room for it, or write it elsewhere."
        ) from error


def forget_unwritten() -> None:
    """Forget what streams still hold and can not write, which Python would complain about when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # which was told, or there was nobody to tell
            _point_nowhere(stream.fileno())


def _point_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere == number:
        os.set_inheritable(number, True)
    else:
        os.dup2(nowhere, number)
        os.close(nowhere)
