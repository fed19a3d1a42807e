"""The command ``maverick``: what may be written after it. ``exit_codes`` says what it ends with."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence

import maverick
from maverick.cli.exit_codes import FAILURE, INTERRUPTED, MISUSE
from maverick.cli.parser import CommandParser
from maverick.cli.runs.arguments import add_runs
from maverick.cli.screen import one_line, printable
from maverick.exceptions import AgentError, ConfigError, ErrorKind, MaverickError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Args:
        arguments: The words after ``maverick``; by default those the process was started with.
    """
    _never_fail_on_characters()
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except MaverickError as error:
        sys.stderr.write(f"maverick: {printable(one_line(str(error)))}\n")
        return MISUSE if _is_misuse(error) else FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(prog="maverick", description="One agent runtime for Python.")
    parser.add_argument("--version", action="version", version=f"maverick {maverick.__version__}")
    parser.set_defaults(command=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    chat = commands.add_parser(
        "chat",
        help="talk to an agent in the terminal",
        description="Talk to an agent. Without a terminal, each line of standard input is answered; "
        "without any input, a short tour is shown.",
    )
    chat.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        help="who answers; by default the configured model, or the offline one when there is no key",
    )
    chat.set_defaults(command=_chat)
    add_runs(commands)
    return parser


def _chat(options: argparse.Namespace) -> int:
    from maverick.cli.chat import run_chat  # here, since it brings the whole runtime with it

    return run_chat(options.model)


def _is_misuse(error: MaverickError) -> bool:
    return isinstance(error, ConfigError) or (
        isinstance(error, AgentError) and error.kind is ErrorKind.INVALID
    )


def _never_fail_on_characters() -> None:
    """Show a replacement for what the terminal's encoding does not have, and accept bytes that are no text."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
