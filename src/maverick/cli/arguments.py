"""The arguments of each command of ``maverick``, but for ``run`` and ``runs``.

A command is named as ``module:function`` and loaded when it is used, so that help needs none of what commands load.
"""

from __future__ import annotations

import argparse
from typing import Any

from maverick.cli.fleet.arguments import add_connection
from maverick.cli.parser import CommandParser, add_names, dollars, unicode_text, whole_number
from maverick.cli.run.arguments import EFFORTS, add_servers
from maverick.cli.run.arguments import add_arguments as add_run


def add_agents(parser: CommandParser) -> None:
    """Add the verbs of ``agents``."""
    parser.description = (
        "Agents in files (.maverick/agents and .claude/agents, of this folder and of your home), in Python modules "
        "(the setting agents), in installed packages, and those that come with Maverick."
    )
    parser.set_defaults(command=parser.show_help)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = verbs.add_parser("list", help="list all agents", description="List all agents.")
    add_names(listing)
    listing.set_defaults(command="maverick.cli.agents:list_agents")
    show = verbs.add_parser("show", help="show what an agent is", description="Show what an agent is.")
    show.add_argument("agent", metavar="AGENT", type=unicode_text, help="the agent's name, or its file")
    show.set_defaults(command="maverick.cli.agents:show_agent")
    for reading in (listing, show):
        _add_json(reading)
    _add_new(
        verbs.add_parser("new", help="write a new agent", description="Write a new agent that can be run.")
    )
    verbs.add_parser("run", help="run an agent; the same as `maverick run`", fill=add_run)


def _add_new(new: CommandParser) -> None:
    new.add_argument("name", metavar="NAME", type=unicode_text, help="what it is called")
    new.add_argument(
        "--python", action="store_true", help="write Python with a tool of its own, instead of Markdown"
    )
    new.add_argument(
        "--home", action="store_true", help="write it to your home folder, for all your projects"
    )
    new.add_argument("--force", action="store_true", help="overwrite an existing file")
    new.set_defaults(command="maverick.cli.new_agent:write_agent")


def add_chat(parser: CommandParser) -> None:
    """Add the arguments of ``chat``."""
    parser.description = (
        "Talk to an assistant for your to-do list, which has the tools of the MCP servers in ~/.maverick/mcp.json too "
        "(for other agents: `maverick tui`, `maverick run`). Without a terminal, "
        "each line of standard input is answered; without any input, a short tour is shown."
    )
    parser.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        help="the model to use (default: the configured one, or the offline model if none is configured and no key is set)",
    )
    parser.set_defaults(command="maverick.cli.chat:run_chat")


def add_tui(parser: CommandParser) -> None:
    """Add the arguments of ``tui``."""
    parser.description = (
        "A full-screen terminal for agents and their runs: watch an agent work, approve its tool calls, stop and resume "
        "it, and fork it from any turn. Press F1 there for the keys."
    )
    parser.add_argument(
        "agent",
        metavar="AGENT",
        nargs="?",
        type=unicode_text,
        help="the agent to begin with, by name or file as in `maverick run` (default: general)",
    )
    parser.add_argument("--model", metavar="PROVIDER:MODEL", help="the model, in place of each agent's own")
    parser.add_argument(
        "--mode",
        choices=("plan", "ask", "accept-edits", "yolo"),
        help="what agents may do without asking: read only (nothing else is allowed); read; edit files too; anything",
    )
    add_servers(parser, "in every run")
    parser.add_argument(
        "--journal",
        metavar="PATH",
        help="where runs are kept: a file or a postgresql:// address (default: MAVERICK_JOURNAL, the settings, or "
        "~/.maverick/runs.db)",
    )
    parser.set_defaults(command="maverick.cli.tui:open_screen")


def add_acp(parser: CommandParser) -> None:
    """Add the arguments of ``acp``."""
    parser.description = (
        "Serve an agent to an editor that speaks the Agent Client Protocol, such as Zed, JetBrains IDEs or Neovim. The "
        "editor starts this command; its conversations are runs like any other."
    )
    parser.add_argument(
        "agent",
        metavar="AGENT",
        nargs="?",
        type=unicode_text,
        help="the agent, by name or file as in `maverick run` (default: general)",
    )
    parser.add_argument("--model", metavar="PROVIDER:MODEL", help="the model, in place of the agent's own")
    parser.add_argument("--effort", choices=EFFORTS, help="how much work the model puts into an answer")
    parser.add_argument(
        "--mode",
        choices=("plan", "ask", "accept-edits", "yolo"),
        help="the mode that sessions begin in: read only (nothing else is allowed); read; edit files too; anything",
    )
    add_servers(parser, "in every session")
    parser.add_argument(
        "--journal",
        metavar="PATH",
        help="where runs are kept: a file or a postgresql:// address (default: MAVERICK_JOURNAL, the settings, or "
        "~/.maverick/runs.db)",
    )
    parser.set_defaults(command="maverick.cli.acp.command:serve")


def add_serve(parser: CommandParser) -> None:
    """Add the arguments of ``serve``."""
    parser.description = (
        "Serve agents: an API to chat with them and its web page, which is opened. Without any, the task chat is served. "
        "With --temporal, the workers of a fleet make the answers, and any number of servers may run."
    )
    parser.add_argument(
        "agents",
        metavar="AGENT",
        nargs="*",
        type=unicode_text,
        help="an agent by name, or a file or module that has some (reporter.md, clerk.py, clerk.py:NAME, module:NAME)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port",
        type=whole_number(0, 65535),
        default=8765,
        help="the port; 0 chooses a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--allowed-host",
        metavar="NAME",
        action="append",
        default=[],
        dest="allowed_hosts",
        help="another host name that requests may use; may be given several times",
    )
    parser.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        help="the model to use (default: the configured one, or the offline model if none is configured and no key is set)",
    )
    parser.add_argument(
        "--offer-model",
        metavar="PROVIDER:MODEL",
        action="append",
        default=[],
        dest="offer_models",
        help="another model that users may choose for an agent; may be given several times (default: on this machine "
        "alone, those of the same provider)",
    )
    parser.add_argument(
        "--database",
        metavar="PATH",
        help="where conversations and tasks are kept: a file, or a postgresql:// address",
    )
    add_connection(parser)
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    parser.add_argument(
        "--signup",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="let anyone who can reach the server create an account, and use the agents (default: no)",
    )
    parser.add_argument(
        "--oidc-issuer", metavar="URL", help="accept the tokens of this OpenID Connect issuer instead"
    )
    parser.add_argument("--oidc-audience", metavar="NAME", help="the audience that those tokens must have")
    parser.add_argument(
        "--max-spend", type=dollars, metavar="USD", help="the most that one user may spend per day"
    )
    parser.set_defaults(command="maverick.cli.serve:serve")


def add_users(parser: CommandParser) -> None:
    """Add the commands of ``users`` and their arguments."""
    parser.description = (
        "The users of the chat and the server: who there is, and deleting all that is kept of one."
    )
    parser.set_defaults(command=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = commands.add_parser(
        "list",
        help="list users",
        description="List users: accounts, and other users who have tasks or conversations.",
    )
    listing.set_defaults(command="maverick.cli.users:list_users")
    deleting = commands.add_parser(
        "delete",
        help="delete all that is kept of a user",
        description="Delete a user as a whole: account, tokens, tasks, conversations, answers and runs.",
    )
    deleting.add_argument(
        "name", metavar="NAME", type=unicode_text, help="what they sign in with, or their id"
    )
    deleting.add_argument("--yes", action="store_true", help="do not ask")
    deleting.set_defaults(command="maverick.cli.users:delete_user")
    for command in (listing, deleting):
        command.add_argument(
            "--database",
            metavar="PATH",
            help="where tasks and conversations are kept; by default what is configured",
        )
        _add_json(command)


def add_mcp(parser: CommandParser) -> None:
    """Add the commands of ``mcp`` and their arguments."""
    parser.description = (
        "MCP servers whose tools agents get: those of ~/.maverick/config.yaml, maverick.yaml and .mcp.json. And the "
        "other way round: your tasks as an MCP server for other programs."
    )
    parser.set_defaults(command=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_listing(commands.add_parser("list", help="list MCP servers and their tools"))
    _add_adding(commands.add_parser("add", help="write an MCP server down, for all your projects"))
    _add_removing(commands.add_parser("remove", help="remove a server that was added"))
    _add_signing_in(commands.add_parser("login", help="sign in to a server at a URL, in your browser"))
    _add_signing_out(commands.add_parser("logout", help="forget the tokens of a sign-in"))
    _add_accepting(commands.add_parser("accept", help="accept tools that have changed"))
    _add_serving(commands.add_parser("serve", help="serve your tasks to other programs"))


def _add_listing(listing: CommandParser) -> None:
    listing.description = (
        "List MCP servers. Each is connected to, for its tools; one that only the project names is not started before "
        "you trust the project."
    )
    listing.add_argument("servers", metavar="SERVER", nargs="*", type=unicode_text, help="only these")
    _add_json(listing)
    listing.set_defaults(command="maverick.cli.mcp:list_servers")


def _add_adding(adding: CommandParser) -> None:
    adding.description = (
        "Write an MCP server down in ~/.maverick/mcp.json. Options stand before or right after its name; all that follows "
        "the first other word is its command."
    )
    adding.add_argument("--url", type=unicode_text, help="where it is, in place of a command")
    for option, dest, what in (
        ("--header", "headers", "a header for its address"),
        ("--env", "environment", "a variable"),
    ):
        adding.add_argument(
            option,
            metavar="NAME=VALUE",
            action="append",
            default=[],
            dest=dest,
            type=_pair,
            help=f"{what}; ${{VARIABLE}} in it is read when the server is used; may be given several times",
        )
    adding.add_argument("--replace", action="store_true", help="in place of a server of this name")
    adding.add_argument("name", metavar="SERVER", type=unicode_text, help="what agents call it")
    adding.add_argument(
        "server_command",
        metavar="COMMAND",
        nargs=argparse.REMAINDER,
        action=_ServerCommand,
        help="the program and its arguments",
    )
    adding.set_defaults(command="maverick.cli.mcp_add:add_server")


class _ServerCommand(argparse.Action):
    """The words after a server's name: options of ours right after it, and then its command, which has its own."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401 - as argparse has it
        option_string: str | None = None,  # noqa: ARG002 - as argparse has it
    ) -> None:
        ours = 0
        while ours < len(values) and values[ours].startswith("-") and values[ours] != "--":
            ours += 1 if values[ours] == "--replace" or "=" in values[ours] else 2
        if ours:
            parser.parse_args([*values[:ours], namespace.name, *values[ours:]], namespace)
        else:
            setattr(namespace, self.dest, values[1:] if values[:1] == ["--"] else values)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = unicode_text(text).partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name.strip(), value


def _add_removing(removing: CommandParser) -> None:
    removing.description = "Remove a server from ~/.maverick/mcp.json."
    removing.add_argument("name", metavar="SERVER", type=unicode_text, help="the server")
    removing.set_defaults(command="maverick.cli.mcp_add:remove_server")


def _add_signing_in(login: CommandParser) -> None:
    login.description = (
        "Sign in to an MCP server at a URL, in your browser. The tokens are kept in the system's keyring, if the package "
        "keyring is installed, else in a file that only you can read."
    )
    login.add_argument("server", metavar="SERVER", type=unicode_text, help="the server")
    login.add_argument(
        "--no-browser", action="store_true", help="only show the address to sign in at; open no browser"
    )
    login.add_argument(
        "--client-id",
        metavar="ID",
        default="",
        type=unicode_text,
        help="a program that you have registered at its authorization server, if that does not register Maverick by itself",
    )
    login.add_argument(
        "--port",
        type=whole_number(1, 65535),
        default=0,
        help="the port that the browser comes back to, http://127.0.0.1:PORT/callback; by default any",
    )
    login.set_defaults(command="maverick.cli.mcp_login:login")


def _add_signing_out(logout: CommandParser) -> None:
    logout.description = "Forget the tokens of a sign-in to an MCP server."
    logout.add_argument("server", metavar="SERVER", type=unicode_text, help="the server")
    logout.set_defaults(command="maverick.cli.mcp_login:logout")


def _add_accepting(accepting: CommandParser) -> None:
    accepting.description = (
        "Accept the tools of a server as they are now: tools that have changed since you accepted them are kept from "
        "agents."
    )
    accepting.add_argument("server", metavar="SERVER", type=unicode_text, help="the server")
    accepting.add_argument(
        "tool",
        metavar="TOOL",
        nargs="?",
        type=unicode_text,
        help="the only tool to accept, as the server names it",
    )
    accepting.set_defaults(command="maverick.cli.mcp:accept")


def _add_serving(serve: CommandParser) -> None:
    serve.description = (
        "Serve tasks over MCP. By default to the program that starts this one, over its standard "
        "input and output; with --port, over HTTP to users who have a token."
    )
    serve.add_argument("--user", help="whose tasks to serve over standard input; by default yours")
    serve.add_argument(
        "--database",
        help="where tasks are kept: a file or a postgresql:// address; by default what is configured",
    )
    serve.add_argument("--port", type=whole_number(1, 65535), help="serve over HTTP on this port")
    serve.add_argument(
        "--host", default="127.0.0.1", help="the address to serve on (default: this machine only)"
    )
    serve.add_argument(
        "--allowed-host",
        metavar="NAME",
        action="append",
        default=[],
        dest="allowed_hosts",
        help="another host name that HTTP requests may use; may be given several times",
    )
    serve.add_argument(
        "--tokens",
        metavar="FILE",
        help="who may use it over HTTP: a line “user token” for each, kept to yourself",
    )
    serve.set_defaults(command="maverick.cli.mcp_serve:serve")


def add_trust(parser: CommandParser) -> None:
    """Add the arguments of ``trust``."""
    parser.description = (
        "Trust a project. What its files say about where data goes and what runs (address, key and provider of the model, "
        "where runs and conversations are kept, MCP servers, permissions that allow something, agents, modules) applies only "
        "then. A file that changes must be trusted again. MAVERICK_TRUST names more trusted folders."
    )
    parser.add_argument(
        "path", metavar="PATH", nargs="?", type=unicode_text, help="the project's folder; by default this one"
    )
    doing = parser.add_mutually_exclusive_group()
    doing.add_argument(
        "--list", action="store_true", dest="listing", help="list the folders that are trusted"
    )
    doing.add_argument("--remove", action="store_true", help="stop trusting the folder")
    parser.set_defaults(command="maverick.cli.trust:trust")


def add_config(parser: CommandParser) -> None:
    """Add the verbs of ``config``."""
    parser.description = (
        "Settings: the defaults, then ~/.maverick/config.yaml, then ./maverick.yaml, then the environment, "
        "each over the one before."
    )
    parser.set_defaults(command=parser.show_help)
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND")
    show = verbs.add_parser(
        "show",
        help="show what will be used, and where it was set",
        description="Show every setting and MCP server as it will be used, and where it was set. A key is never shown.",
    )
    show.set_defaults(command="maverick.cli.config:show_settings")
    path = verbs.add_parser(
        "path", help="show where settings are read from", description="Show where settings are read from."
    )
    path.set_defaults(command="maverick.cli.config:show_files")
    for reading in (show, path):
        _add_json(reading)
    _add_setting(verbs.add_parser("set", help="write a setting"))
    unset = verbs.add_parser(
        "unset",
        help="remove a setting",
        description="Remove a setting from ~/.maverick/config.yaml; the rest of the file stays as it is.",
    )
    unset.add_argument("key", metavar="KEY", type=unicode_text, help="the setting, such as agent.model")
    unset.add_argument("--project", action="store_true", help="remove it from ./maverick.yaml instead")
    unset.set_defaults(command="maverick.cli.config:unset_setting")
    init = verbs.add_parser(
        "init",
        help="write a file with every setting in it",
        description="Write ~/.maverick/config.yaml, with every setting in a comment.",
    )
    init.add_argument("--project", action="store_true", help="write ./maverick.yaml instead")
    init.add_argument("--force", action="store_true", help="overwrite an existing file")
    init.set_defaults(command="maverick.cli.config:write_file")


def _add_setting(setting: CommandParser) -> None:
    setting.description = (
        "Write a setting to ~/.maverick/config.yaml; the rest of the file stays as it is. A value that is left out is read "
        "from standard input, and a key is asked for, so that it does not stay in your shell's history."
    )
    setting.add_argument(
        "key",
        metavar="KEY",
        type=unicode_text,
        help="the setting, such as agent.model (see `maverick config show`)",
    )
    setting.add_argument("value", metavar="VALUE", nargs="?", type=unicode_text, help="its value")
    setting.add_argument("--project", action="store_true", help="write it to ./maverick.yaml instead")
    setting.set_defaults(command="maverick.cli.config:set_setting")


def add_models(parser: CommandParser) -> None:
    """Add the arguments of ``models``."""
    parser.description = (
        "List models: how many tokens they read, what they cost (US dollars per million tokens), when they are retired, and "
        "what they take. Prices are those of the vendors' lists."
    )
    parser.add_argument(
        "pattern",
        metavar="PATTERN",
        nargs="?",
        type=unicode_text,
        help="part of a name, or a pattern such as x-ai/grok-4*; default: the current models of Claude and OpenAI",
    )
    add_names(parser)
    _add_json(parser)
    parser.set_defaults(command="maverick.cli.models:list_models")


def add_doctor(parser: CommandParser) -> None:
    """Add the arguments of ``doctor``."""
    parser.description = (
        "Check what Maverick works with: settings, keys (only whether they are set), the journal, "
        "agents, MCP servers (none is started), optional packages and programs. The exit code is 1 if something is wrong."
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="repair what needs no decision: who may read ~/.maverick, a retired model, completion in bash and fish",
    )
    _add_json(parser)
    parser.set_defaults(command="maverick.cli.doctor:examine")


_COMPLETION = """\
Write the completion script of your shell. Save it where the shell looks:

  bash   maverick completion bash > ~/.local/share/bash-completion/completions/maverick
  zsh    maverick completion zsh > ~/.zfunc/_maverick     (with fpath+=~/.zfunc before compinit)
  fish   maverick completion fish > ~/.config/fish/completions/maverick.fish"""


def add_completion(parser: CommandParser) -> None:
    """Add the arguments of ``completion``."""
    parser.description = _COMPLETION
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    parser.set_defaults(command="maverick.cli.completion:write_script")


def _add_json(parser: CommandParser) -> None:
    parser.add_argument("--json", action="store_true", dest="as_json", help="write JSON, for other programs")
