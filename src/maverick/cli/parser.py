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

from maverick.cli.exit_codes import MISUSE
from maverick.cli.screen import write_out
from maverick.exceptions import describe_unknown

_LARGEST = 1_000_000
_PLAIN_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*"


class CommandParser(argparse.ArgumentParser):
    """A parser whose complaints are a line each, and whose options have to be written out.

    ``fill`` adds its arguments when it is first used, so that a command which is not asked for is not loaded.
    """

    def __init__(self, *, fill: Callable[[CommandParser], None] | None = None, **options: Any) -> None:
        super().__init__(**{"allow_abbrev": False} | options)
        self._fill = fill
        self._words: list[str] = []
        self._verbs: Any = None
        # By default it is not set at all: a command must not take back what was said before it.
        self.option("--debug", "show the traceback of an error", default=argparse.SUPPRESS)

    def option(self, usage: str, text: str, *, to: Any = None, **settings: Any) -> None:  # noqa: ANN401 - a group of argparse, which has no public name
        """Add an option or an argument, written as in a usage line.

        ``-p --prompt TEXT`` takes a text, ``--force`` nothing; ``agent AGENT?`` is an argument that may be left out (``*``
        is any number, ``+`` at least one), and ``--attach FILE...`` may be given several times. A word in lower case is
        the name of the value.

        ``to`` is the group it belongs to, and ``settings`` are more of what ``add_argument()`` of argparse takes.
        """
        words = usage.split()
        value = words.pop() if words[-1].isupper() else ""
        flags = [word for word in words if word.startswith("-")]
        dest = [word for word in words if not word.startswith("-")]
        if value:
            settings = {"metavar": value.rstrip("?*+."), "type": unicode_text} | settings
            if value.endswith("..."):
                settings = {"action": "append", "default": []} | settings
                text += "; may be given several times"
            elif value[-1] in "?*+":
                settings["nargs"] = value[-1]
        elif not settings.keys() & {"action", "choices"}:
            settings["action"] = "store_true"
        if flags and dest:
            settings["dest"] = dest[0]
        (to or self).add_argument(*(flags or dest), help=text, **settings)

    def describe(self, description: str, command: str, *, epilog: str | None = None) -> None:
        """Set what the command does, in words and as ``module:function``; a text with an epilog keeps its lines."""
        self.description, self.epilog = description, epilog
        if epilog is not None:
            self.formatter_class = argparse.RawDescriptionHelpFormatter
        self.set_defaults(command=command)

    def verb(
        self, name: str, summary: str, command: str = "", description: str = "", **settings: Any
    ) -> Self:
        """Add a command below this one, which then shows its help when none of them is named.

        The command is the ``module:function`` that does it; without a description of its own, the summary is it.
        """
        if self._verbs is None:
            self.set_defaults(command=lambda _: self.print_help())
            self._verbs = self.add_subparsers(title="commands", metavar="COMMAND")
        description = description or f"{summary[0].upper()}{summary[1:]}."
        added: Self = self._verbs.add_parser(name, help=summary, description=description, **settings)
        added.set_defaults(command=command)
        return added

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


def add_names(parser: CommandParser) -> None:
    """Add the option with which shells ask what there is."""
    parser.option("--names", "write the names only, each on a line")


def add_json(parser: CommandParser, text: str = "write JSON, for other programs") -> None:
    """Add the option for output that other programs read."""
    parser.option("--json as_json", text)


def name_lines(names: Iterable[str]) -> str:
    """What ``--names`` writes: names that mean nothing to a shell, since bash expands what it offers."""
    return "".join(f"{name}\n" for name in names if re.fullmatch(_PLAIN_NAME, name))


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
