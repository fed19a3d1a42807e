"""The command ``maverick``: finds the command that was asked for, runs it, and says in one line what went wrong."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from typing import Any, NamedTuple

import maverick
from maverick.cli.exit_codes import FAILURE, INTERRUPTED, MISUSE, SUCCESS
from maverick.cli.parser import CommandParser
from maverick.cli.screen import (
    accept_all_characters,
    forget_unwritten,
    one_line,
    open_closed_streams,
    printable,
)
from maverick.exceptions import AgentError, ConfigError, ErrorKind, MaverickError


class Command(NamedTuple):
    """One command."""

    name: str
    summary: str
    """What it does, for the list of all commands."""
    arguments: str
    """The function that adds its arguments to a parser, as ``module:function`` of this package. It sets ``command``: a
    function of the options that returns the exit code, or its name, which is loaded when the command is used."""
    extra: str = ""
    """The optional dependency of Maverick it needs, if any."""

    def add_to(self, parser: CommandParser) -> None:
        """Give a parser the arguments of this command."""
        _load(self.arguments)(parser)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Explain how to install what the command needs, if it is missing."""
        try:
            yield
        except ModuleNotFoundError as error:
            if not self.extra and error.name not in sys.stdlib_module_names:
                raise
            from maverick.config.installation import extra_needed  # here, since it is rarely needed

            with extra_needed(self.extra, f"`maverick {self.name}`"):
                raise


COMMANDS = (
    Command("run", "run an agent or a prompt", "maverick.cli.run.arguments:add_arguments"),
    Command("agents", "list, show and write agents", "maverick.cli.arguments:add_agents"),
    Command(
        "runs",
        "show, approve, resume, fork and move runs",
        "maverick.cli.runs.arguments:add_arguments",
        extra="temporal",
    ),
    Command(
        "eval", "run cases for an agent, and check what it does", "maverick.cli.eval.arguments:add_arguments"
    ),
    Command(
        "chat", "talk to a to-do assistant in the terminal", "maverick.cli.arguments:add_chat", extra="chat"
    ),
    Command(
        "tui",
        "run and watch agents in a full-screen terminal",
        "maverick.cli.arguments:add_tui",
        extra="tui",
    ),
    Command(
        "acp",
        "use an agent in your editor (Agent Client Protocol)",
        "maverick.cli.arguments:add_acp",
        extra="acp",
    ),
    Command(
        "serve", "serve the Chat API and its web page", "maverick.cli.arguments:add_serve", extra="server"
    ),
    Command(
        "users",
        "list users of the server, and delete one",
        "maverick.cli.arguments:add_users",
        extra="server",
    ),
    Command(
        "mcp",
        "list MCP servers and their tools; serve your tasks",
        "maverick.cli.arguments:add_mcp",
        extra="server",
    ),
    Command("worker", "drive runs of a fleet", "maverick.cli.fleet.arguments:add_worker", extra="temporal"),
    Command(
        "fleet",
        "show workers and runs of a fleet",
        "maverick.cli.fleet.arguments:add_fleet",
        extra="temporal",
    ),
    Command(
        "schedule",
        "start runs at certain times in a fleet",
        "maverick.cli.fleet.arguments:add_schedule",
        extra="temporal",
    ),
    Command("trust", "trust a project's settings, servers and agents", "maverick.cli.arguments:add_trust"),
    Command("models", "list models with their prices", "maverick.cli.arguments:add_models"),
    Command("config", "show settings, and write a settings file", "maverick.cli.arguments:add_config"),
    Command("doctor", "check the settings, keys, programs and packages", "maverick.cli.arguments:add_doctor"),
    Command("completion", "complete commands in your shell", "maverick.cli.arguments:add_completion"),
)


_DESCRIPTION = """\
One agent runtime for Python. A prompt needs no command: maverick "why does the
build fail?", with any option of `maverick run` before it; maverick -c "…" goes on."""
_OF_ALL = ("-h", "--help", "--version", "--debug")


def command_parser(asked: str = "") -> CommandParser:
    """The parser of the command line; the arguments of a command are added when it is used.

    Args:
        asked: The first word after ``maverick``. If it is a command, the parser has no other.
    """
    parser = CommandParser(prog="maverick", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"maverick {maverick.__version__}")
    parser.set_defaults(command=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in [command for command in COMMANDS if command.name == asked] or COMMANDS:
        added = commands.add_parser(command.name, help=command.summary, fill=command.add_to)
        added.set_defaults(asked=command)
    return parser


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
            words = _with_command(sys.argv[1:] if arguments is None else arguments)
            command_parser(words[0] if words else "").parse_args(words, options)
        except SystemExit as ended:  # how argparse ends when it has said what was to be said
            return int(ended.code or SUCCESS)
        asked: Command | None = getattr(options, "asked", None)
        with nullcontext() if asked is None else asked.explained():
            command = _load(options.command) if isinstance(options.command, str) else options.command
            return int(command(options))
    except MaverickError as error:
        _complain(error, str(error), options)
        return MISUSE if _is_misuse(error) else FAILURE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe
        return FAILURE
    except Exception as error:  # noqa: BLE001 - a mistake in the program, told like any other error
        said = (
            f"{type(error).__name__}: {error}. This is a bug in Maverick; --debug shows where it comes from."
        )
        _complain(error, said, options)
        return FAILURE


def _with_command(words: Sequence[str]) -> Sequence[str]:
    """The words, with ``run`` before its options, and ``run -p`` before a bare prompt of several words."""
    is_continued = bool(words) and words[0] in ("-c", "--continue")
    if len(words) > 1 and words[0].startswith("-") and words[0] not in _OF_ALL and not is_continued:
        return ["run", *words]
    continues = list(words[:1]) if is_continued else []
    rest = words[len(continues) :]
    is_prompt = bool(rest) and not rest[0].startswith("-") and (bool(continues) or len(rest[0].split()) > 1)
    if not continues and not is_prompt:
        return words
    return ["run", *continues, *(("-p",) if is_prompt else ()), *rest]


def _load(name: str) -> Callable[..., Any]:
    """The function of a ``module:function``."""
    module, _, function = name.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(module), function)
    return loaded


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
    with suppress(OSError):  # there is nowhere else to report it; the exit code tells
        sys.stderr.write(f"{trace}maverick: {printable(one_line(said))}\n")


def _is_misuse(error: MaverickError) -> bool:
    return isinstance(error, ConfigError) or (
        isinstance(error, AgentError) and error.kind is ErrorKind.INVALID
    )
