"""The commands of ``maverick``: what each is called, and where it is. A new one is a line here and a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module

import maverick
from maverick.cli.parser import CommandParser
from maverick.exceptions import AgentError, ErrorKind


@dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    name: str
    summary: str
    """What it does, for the list of all commands."""
    module: str
    """A module with ``add_arguments(parser)``, which also sets ``command``: a function of the options that returns
    the exit code. It is loaded when the command is used, and loads whatever is heavy when that function is called."""
    extra: str = ""
    """The optional dependency of Maverick it needs, if any."""

    def add_to(self, parser: CommandParser) -> None:
        """Give a parser the arguments of this command."""
        import_module(self.module).add_arguments(parser)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the absence of what the command needs into advice."""
        try:
            yield
        except ModuleNotFoundError as error:
            if not self.extra or error.name is None or error.name.partition(".")[0] == "maverick":
                raise
            from maverick.config.installation import install_command  # here, since it is seldom wanted

            raise AgentError(
                f"`maverick {self.name}` needs the package {error.name.partition('.')[0]!r}, which is not installed. "
                f"Run: {install_command(self.extra)}",
                kind=ErrorKind.INVALID,
                cause=error,
            ) from error


COMMANDS = (
    Command("run", "run an agent, or work on a prompt", "maverick.cli.run.arguments"),
    Command("agents", "list, show and write agents", "maverick.cli.agents.arguments"),
    Command("runs", "look at runs, decide for them, go on with them", "maverick.cli.runs.arguments"),
    Command("chat", "talk to an agent in the terminal", "maverick.cli.chat_arguments", extra="chat"),
    Command("tui", "watch agents at work on one screen", "maverick.cli.tui.arguments", extra="tui"),
    Command("serve", "serve the Chat API and its web page", "maverick.cli.serve.arguments", extra="server"),
    Command(
        "users", "list users of the server, and delete one", "maverick.cli.users.arguments", extra="server"
    ),
    Command("mcp", "tools of MCP servers; your tasks as one", "maverick.cli.mcp.arguments", extra="server"),
    Command("trust", "trust a project's settings, servers and agents", "maverick.cli.trust.arguments"),
    Command("config", "show settings, and write a file for them", "maverick.cli.config.arguments"),
    Command("doctor", "look for what is missing or wrong", "maverick.cli.doctor.arguments"),
    Command("completion", "complete commands in your shell", "maverick.cli.completion.arguments"),
)


def command_parser() -> CommandParser:
    """The parser of the whole command line; the arguments of a command are added when it is used."""
    parser = CommandParser(prog="maverick", description="One agent runtime for Python.")
    parser.add_argument("--version", action="version", version=f"maverick {maverick.__version__}")
    parser.set_defaults(command=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        added = commands.add_parser(command.name, help=command.summary, fill=command.add_to)
        added.set_defaults(asked=command)
    return parser
