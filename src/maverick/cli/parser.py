"""Arguments of a command line: what is wrong with them is said in one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from maverick.cli.exit_codes import MISUSE, SUCCESS

_LARGEST = 1_000_000


class CommandParser(argparse.ArgumentParser):
    """A parser whose complaints are a line each, and whose options have to be written out."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False} | options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to read what would be right."""
        self.exit(MISUSE, f"maverick: {message.rstrip('.')}. See: {self.prog} --help\n")

    def show_help(self, options: argparse.Namespace) -> int:  # noqa: ARG002 - as every command
        """What the command does when no other is named."""
        self.print_help()
        return SUCCESS


def whole_number(minimum: int) -> Callable[[str], int]:
    """An argument that is a whole number."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and minimum <= int(text[:20]) <= _LARGEST):
            raise argparse.ArgumentTypeError(
                f"expected a whole number from {minimum} to {_LARGEST}, got {text!r}"
            )
        return int(text)

    return read


def unicode_text(text: str) -> str:
    """An argument that is text: what a terminal hands over may be any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise argparse.ArgumentTypeError("expected text, got bytes that are none in UTF-8") from error
    return text
