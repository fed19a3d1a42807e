"""The command ``maverick``: does what was asked for, and says in one line why it can not."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress

from maverick.cli.command import Command, command_parser
from maverick.cli.exit_codes import FAILURE, INTERRUPTED, MISUSE, SUCCESS
from maverick.cli.screen import one_line, printable
from maverick.cli.streams import accept_all_characters, forget_unwritten, open_closed_streams
from maverick.exceptions import AgentError, ConfigError, ErrorKind, MaverickError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: The words after ``maverick``; by default those the process was started with.
    """
    if arguments is None:
        _collect_less()
        open_closed_streams()
    accept_all_characters()
    try:
        return _exit_code(arguments)
    finally:
        forget_unwritten()


def _exit_code(arguments: Sequence[str] | None) -> int:
    options = argparse.Namespace()
    try:
        try:
            command_parser().parse_args(arguments, options)
        except SystemExit as ended:  # how argparse ends when it has said what was to be said
            return int(ended.code or SUCCESS)
        command: Callable[[argparse.Namespace], int] = options.command
        asked: Command | None = getattr(options, "asked", None)
        with nullcontext() if asked is None else asked.explained():
            return command(options)
    except MaverickError as error:
        _complain(error, str(error), options)
        return MISUSE if _is_misuse(error) else FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        return FAILURE
    except Exception as error:  # noqa: BLE001 - a mistake in the program, told like any other error
        said = f"{type(error).__name__}: {error}. This should not happen; --debug shows where it comes from."
        _complain(error, said, options)
        return FAILURE


def _collect_less() -> None:
    """Look for cycles less often: what is loaded at the start stays, and what is left at the end goes anyway.

    Else a short command spends a fifth of its time on that.
    """
    gc.set_threshold(50_000)
    atexit.register(gc.freeze)


def _complain(error: Exception, said: str, options: argparse.Namespace) -> None:
    trace = ""
    if getattr(options, "debug", False):
        import traceback

        trace = printable("".join(traceback.format_exception(error)))
    with suppress(OSError):  # there is nowhere else to say it; the exit code tells
        sys.stderr.write(f"{trace}maverick: {printable(one_line(said))}\n")


def _is_misuse(error: MaverickError) -> bool:
    return isinstance(error, ConfigError) or (
        isinstance(error, AgentError) and error.kind is ErrorKind.INVALID
    )
