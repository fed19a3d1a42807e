"""Arguments of a command line: what is wrong with them is said in one line."""

from __future__ import annotations

import argparse
import math
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any, NoReturn, Self

from maverick.cli.exit_codes import MISUSE, SUCCESS
from maverick.cli.screen import write_out
from maverick.exceptions import describe_unknown

_LARGEST = 1_000_000
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")


class CommandParser(argparse.ArgumentParser):
    """A parser whose complaints are a line each, and whose options have to be written out.

    Args:
        fill: Adds its arguments when it is first used, so that a command which is not asked for is not loaded.
        options: What :class:`argparse.ArgumentParser` takes.
    """

    def __init__(self, *, fill: Callable[[CommandParser], None] | None = None, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False} | options)
        self._fill = fill
        self._words: list[str] = []
        if self.add_help:  # not a mere part of other parsers
            self.add_argument(
                "--debug",
                action="store_true",
                default=argparse.SUPPRESS,  # a command must not take back what was said before it
                help="show the traceback of an error",
            )

    def filled(self) -> Self:
        """This parser with all its arguments."""
        fill, self._fill = self._fill, None
        if fill is not None:
            fill(self)
        return self

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401 - as argparse has it
        """Read arguments, those of its own added before."""
        self._words = [*(sys.argv[1:] if args is None else args)]
        return super(CommandParser, self.filled()).parse_known_args(args, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401 - as argparse has it
        """Write help or the version; unlike argparse, raise an error if that fails."""
        if file is sys.stdout:
            write_out(sys.stdout, message)
        else:
            super()._print_message(message, file)

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - as argparse has it
        """Refuse a command or a value that does not exist, with the nearest one that does."""
        if action.choices is not None and value not in action.choices:
            noun = "command" if isinstance(action.choices, dict) else "choice"
            said = describe_unknown(noun, str(value), [*map(str, action.choices)])
            words = [*takewhile(lambda word: not word.startswith("-"), self._words)] or [str(value)]
            is_prompt = len(words) > 2 or "Did you mean" not in said  # two may be a command and its verb
            if noun == "command" and is_prompt and self.prog == "maverick":
                said += f" If it is a prompt: maverick run -p {shlex.quote(' '.join(words))}"
            raise argparse.ArgumentError(None if noun == "command" else action, said)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to read what would be right."""
        if self._words[:1] == ["run"] and re.match(r"unrecognized arguments: [^-]", message):
            message += '. A prompt of several words is put in quotation marks: maverick run AGENT -p "…"'
        self.exit(MISUSE, f"maverick: {message.rstrip('.')}. See: {self.prog} --help\n")

    def show_help(self, options: argparse.Namespace) -> int:  # noqa: ARG002 - as every command
        """What the command does when no other is named."""
        self.print_help()
        return SUCCESS


def add_names(parser: argparse.ArgumentParser) -> None:
    """Add the option with which shells ask what there is."""
    parser.add_argument("--names", action="store_true", help="write the names only, each on a line")


def name_lines(names: Iterable[str]) -> str:
    """What ``--names`` writes: names that mean nothing to a shell, since bash expands what it offers."""
    return "".join(f"{name}\n" for name in names if _PLAIN_NAME.fullmatch(name))


def whole_number(minimum: int, largest: int = _LARGEST) -> Callable[[str], int]:
    """An argument that is a whole number."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and minimum <= int(text[:20]) <= largest):
            raise argparse.ArgumentTypeError(
                f"expected a whole number from {minimum} to {largest}, got {text!r}"
            )
        return int(text)

    return read


def dollars(text: str) -> float:
    """An argument that is an amount of money, such as ``0.50`` or ``$2``."""
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = math.nan
    if not 0 < amount <= _LARGEST:
        raise argparse.ArgumentTypeError(f"expected US dollars, such as 0.50, got {text!r}")
    return amount


def seconds(text: str) -> float:
    """An argument that is a length of time: ``90``, ``90s``, ``5m`` or ``1h30m``."""
    # Here, since the settings it belongs to are slow to load.
    from maverick.config.model_settings import parse_duration

    plain = text.isascii() and text.isdigit()
    total = float(text[:20]) if plain else parse_duration(text)
    if total is not None and 0.001 <= total <= _LARGEST:
        return total
    raise argparse.ArgumentTypeError(f"expected a length of time, such as 90s, 5m or 1h30m, got {text!r}")


def unicode_text(text: str) -> str:
    """An argument that is text: what a terminal hands over may be any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise argparse.ArgumentTypeError("expected text, got bytes that are not UTF-8") from error
    return text
