"""The command ``maverick``: finds the command that was asked for, runs it, and says in one line what went wrong."""

from __future__ import annotations

import argparse
import atexit
import gc
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from typing import Any, NamedTuple

import maverick
from maverick.cli.exit_codes import FAILURE, INTERRUPTED, MISUSE, SUCCESS, is_misuse
from maverick.cli.parser import CommandParser
from maverick.cli.screen import accept_all_characters, forget_unwritten, open_closed_streams
from maverick.exceptions import MaverickError
from maverick.tui.plain_text import one_line, printable


class Command(NamedTuple):
    """One command."""

    name: str
    summary: str
    """What it does, for the list of all commands."""
    extra: str = ""
    """The optional dependency of Maverick it needs, if any."""
    module: str = "arguments"
    """The module of this package whose function ``add_…`` adds the arguments to a parser. That sets ``command``: a function
    of the options, or its ``module:function``, which is loaded when the command is used. It returns the exit code, nothing
    if all went well, or a coroutine of either."""

    def add_to(self, parser: CommandParser) -> None:
        """Give a parser the arguments of this command."""
        _load(f"{self.module}:add_{self.name}")(parser)

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
    Command("run", "run an agent or a prompt", module="run.arguments"),
    Command("agents", "list, show and write agents"),
    Command("runs", "show, approve, resume, fork and move runs", "temporal", "runs.arguments"),
    Command("eval", "run cases for an agent, and check what it does", module="run.arguments"),
    Command("chat", "talk to a to-do assistant in the terminal", "chat"),
    Command("tui", "run and watch agents in a full-screen terminal", "tui"),
    Command("acp", "use an agent in your editor (Agent Client Protocol)", "acp"),
    Command("serve", "serve the Chat API and its web page", "server"),
    Command("users", "list users of the server, and delete one", "server"),
    Command("mcp", "list MCP servers and their tools; serve your tasks", "server"),
    Command("worker", "drive runs of a fleet", "temporal", "fleet.arguments"),
    Command("fleet", "show workers and runs of a fleet", "temporal", "fleet.arguments"),
    Command("schedule", "start runs at certain times in a fleet", "temporal", "fleet.arguments"),
    Command("trust", "trust a project's settings, servers and agents"),
    Command("models", "list models with their prices"),
    Command("config", "show settings, and write a settings file"),
    Command("doctor", "check the settings, keys, programs and packages"),
    Command("completion", "complete commands in your shell"),
)


_DESCRIPTION = """\
One agent runtime for Python. A prompt needs no command: maverick "why does the
build fail?", with any option of `maverick run` before it; maverick -c "…" continues."""
_OF_ALL = ("-h", "--help", "--version", "--debug")


def command_parser(asked: str = "") -> CommandParser:
    """The parser of the command line; the arguments of a command are added when it is used.

    If ``asked``, the first word after ``maverick``, is a command, the parser has no other.
    """
    parser = CommandParser(prog="maverick", description=_DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"maverick {maverick.__version__}")
    for command in [command for command in COMMANDS if command.name == asked] or COMMANDS:
        parser.verb(command.name, command.summary, fill=command.add_to).set_defaults(asked=command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default the one that the process was started with, and return its exit code."""
    if arguments is None:
        # Look for cycles less often, on which a short command would spend a fifth of its time: what is loaded at the
        # start stays, and what is left at the end goes anyway.
        gc.set_threshold(50_000)
        atexit.register(gc.freeze)
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
            result = command(options)
            if isinstance(result, Coroutine):
                import asyncio  # here, since a short command does without it

                result = asyncio.run(result)
            return int(result or SUCCESS)
    except MaverickError as error:
        _complain(error, str(error), options)
        return MISUSE if is_misuse(error) else FAILURE
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
    is_option = bool(words) and words[0].startswith("-") and (len(words) > 1 or words[0] in ("-p", "-m"))
    if is_option and words[0] not in _OF_ALL and not is_continued:
        return ["run", *words]
    continues = list(words[:1]) if is_continued else []
    rest = words[len(continues) :]
    is_prompt = bool(rest) and not rest[0].startswith("-") and (bool(continues) or len(rest[0].split()) > 1)
    if not continues and not is_prompt:
        return words
    return ["run", *continues, *(("-p",) if is_prompt else ()), *rest]


def _load(name: str) -> Callable[..., Any]:
    """The function of a ``module:function`` of this package."""
    module, _, function = name.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(f"maverick.cli.{module}"), function)
    return loaded


def _complain(error: Exception, said: str, options: argparse.Namespace) -> None:
    trace = ""
    if getattr(options, "debug", False):
        import traceback

        trace = printable("".join(traceback.format_exception(error)))
    with suppress(OSError):  # there is nowhere else to report it; the exit code tells
        sys.stderr.write(f"{trace}maverick: {one_line(said)}\n")
