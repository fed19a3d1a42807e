"""The command ``maverick``: does what was asked for, and says in one line why it can not."""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from maverick.cli.command import Command, command_parser
from maverick.cli.exit_codes import FAILURE, INTERRUPTED, MISUSE
from maverick.cli.screen import one_line, printable
from maverick.exceptions import AgentError, ConfigError, ErrorKind, MaverickError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: The words after ``maverick``; by default those the process was started with.
    """
    if arguments is None:
        _collect_less()
    _never_fail_on_characters()
    options = command_parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    asked: Command | None = getattr(options, "asked", None)
    try:
        with nullcontext() if asked is None else asked.explained():
            return command(options)
    except MaverickError as error:
        _complain(error, str(error), options)
        return MISUSE if _is_misuse(error) else FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
    if getattr(options, "debug", False):
        import traceback

        sys.stderr.write(printable("".join(traceback.format_exception(error))))
    sys.stderr.write(f"maverick: {printable(one_line(said))}\n")


def _is_misuse(error: MaverickError) -> bool:
    return isinstance(error, ConfigError) or (
        isinstance(error, AgentError) and error.kind is ErrorKind.INVALID
    )


def _never_fail_on_characters() -> None:
    """Show a replacement for what the terminal's encoding does not have, and accept bytes that are no text."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.closed:
            stream.reconfigure(errors="replace")
