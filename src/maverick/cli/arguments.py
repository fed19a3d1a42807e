"""The arguments of each command of ``maverick``, but for those of runs and of fleets.

A command is named as ``module:function`` and loaded when it is used, so that help needs none of what commands load.
"""

from __future__ import annotations

import argparse
from typing import Any

from maverick.cli.fleet.arguments import add_connection
from maverick.cli.parser import CommandParser, add_json, add_names, dollars, whole_number
from maverick.cli.run.arguments import add_effort, add_journal, add_mode, add_run, add_servers, pair

_PORT = whole_number(1, 65535)
_DEFAULT_MODEL = "the model to use (default: the configured one, or the offline model if none is configured and no key is set)"


def add_agents(parser: CommandParser) -> None:
    """Add the verbs of ``agents``."""
    parser.description = (
        "Agents in files (.maverick/agents and .claude/agents, of this folder and of your home), in Python modules "
        "(the setting agents), in installed packages, and those that come with Maverick."
    )
    listing = parser.verb("list", "list all agents", "agents:list_agents")
    add_names(listing)
    show = parser.verb("show", "show what an agent is", "agents:show_agent")
    show.option("agent AGENT", "the agent's name, or its file")
    for reading in (listing, show):
        add_json(reading)
    new = parser.verb("new", "write a new agent that can be run", "agents:write_agent")
    new.option("name NAME", "what it is called")
    new.option("--python", "write Python with a tool of its own, instead of Markdown")
    new.option("--home", "write it to your home folder, for all your projects")
    new.option("--force", "overwrite an existing file")
    parser.verb("run", "run an agent; the same as `maverick run`", fill=add_run)


def add_chat(parser: CommandParser) -> None:
    """Add the arguments of ``chat``."""
    parser.describe(
        "Talk to an assistant for your to-do list, which has the tools of the MCP servers in ~/.maverick/mcp.json too "
        "(for other agents: `maverick tui`, `maverick run`). Without a terminal, "
        "each line of standard input is answered, and the exit code is 1 if one could not be; without any input, a short "
        "tour is shown.",
        "chat:run_chat",
    )
    parser.option("-m --model PROVIDER:MODEL", _DEFAULT_MODEL)


def add_tui(parser: CommandParser) -> None:
    """Add the arguments of ``tui``."""
    parser.describe(
        "A full-screen terminal for agents and their runs: watch an agent work, approve its tool calls, stop and resume "
        "it, and fork it from any turn. Press F1 there for the keys.",
        "tui:open_screen",
    )
    parser.option(
        "agent AGENT?", "the agent to begin with, by name or file as in `maverick run` (default: general)"
    )
    parser.option("-m --model PROVIDER:MODEL", "the model, in place of each agent's own")
    add_mode(parser, "what agents may do without asking")
    add_servers(parser, "in every run")
    add_journal(parser, "where runs are kept", "--journal")


def add_acp(parser: CommandParser) -> None:
    """Add the arguments of ``acp``."""
    parser.describe(
        "Serve an agent to an editor that speaks the Agent Client Protocol, such as Zed, JetBrains IDEs or Neovim. The "
        "editor starts this command; its conversations are runs like any other.",
        "acp.command:serve",
    )
    parser.option("agent AGENT?", "the agent, by name or file as in `maverick run` (default: general)")
    parser.option("-m --model PROVIDER:MODEL", "the model, in place of the agent's own")
    add_effort(parser)
    add_mode(parser, "the mode that sessions begin in")
    add_servers(parser, "in every session")
    add_journal(parser, "where runs are kept", "--journal")


def add_serve(parser: CommandParser) -> None:
    """Add the arguments of ``serve``."""
    parser.describe(
        "Serve agents: an API to chat with them and its web page, which is opened. Without any, the task chat is served. "
        "With --temporal, the workers of a fleet make the answers, and any number of servers may run.",
        "serve:serve",
    )
    parser.option(
        "agents AGENT*",
        "an agent by name, or a file or module that has some (reporter.md, clerk.py, clerk.py:NAME, module:NAME)",
    )
    parser.option("--host HOST", "the address to listen on (default: %(default)s)", default="127.0.0.1")
    parser.option(
        "--port PORT",
        "the port; 0 chooses a free one (default: %(default)s)",
        type=whole_number(0, 65535),
        default=8765,
    )
    parser.option("--allowed-host allowed_hosts NAME...", "another host name that requests may use")
    parser.option("-m --model PROVIDER:MODEL", _DEFAULT_MODEL)
    parser.option(
        "--offer-model offer_models PROVIDER:MODEL...",
        "another model that users may choose for an agent (default: on this machine alone, those of the same provider)",
    )
    parser.option(
        "--database PATH",
        "where conversations and tasks are kept: a file, or a postgresql:// address",
        type=str,
    )
    add_connection(parser)
    parser.option("--no-browser", "do not open the page")
    parser.option(
        "--signup",
        "let anyone who can reach the server create an account, and use the agents (default: no)",
        action=argparse.BooleanOptionalAction,
        default=False,
    )
    parser.option("--oidc-issuer URL", "accept the tokens of this OpenID Connect issuer instead")
    parser.option("--oidc-audience NAME", "the audience that those tokens must have")
    parser.option("--max-spend USD", "the most that one user may spend per day", type=dollars)


def add_users(parser: CommandParser) -> None:
    """Add the verbs of ``users``."""
    parser.description = (
        "The users of the chat and the server: who there is, and deleting all that is kept of one."
    )
    listing = parser.verb(
        "list", "list accounts, and other users who have tasks or conversations", "users:list_users"
    )
    deleting = parser.verb(
        "delete",
        "delete all that is kept of a user: account, tokens, tasks, conversations, answers and runs",
        "users:delete_user",
    )
    deleting.option("name NAME", "what they sign in with, or their id")
    deleting.option("--yes", "do not ask")
    for verb in (listing, deleting):
        verb.option(
            "--database PATH",
            "where tasks and conversations are kept; by default what is configured",
            type=str,
        )
        add_json(verb)


def add_mcp(parser: CommandParser) -> None:
    """Add the verbs of ``mcp``."""
    parser.description = (
        "MCP servers. An agent gets the tools of those that it names, and of those that you name with --mcp SERVER in "
        "`maverick run`, `tui` or `acp`; `maverick chat` gets those of ~/.maverick/mcp.json, the file that `add` writes to. "
        "Others are in ~/.maverick/config.yaml, maverick.yaml and .mcp.json. And the other way round: your tasks as an MCP "
        "server for other programs."
    )
    listing = parser.verb(
        "list",
        "list MCP servers and their tools",
        "mcp:list_servers",
        "List MCP servers. Each is connected to, for its tools; one that only the project names is not started before "
        "you trust the project.",
    )
    listing.option("servers SERVER*", "only these")
    add_json(listing)
    adding = parser.verb(
        "add",
        "write an MCP server down, for all your projects",
        "mcp:add_server",
        "Write an MCP server down in ~/.maverick/mcp.json. Options stand before or right after its name; all that follows "
        "the first other word is its command.",
    )
    adding.option("--url URL", "where it is, in place of a command")
    for option, what in (
        ("--header headers", "a header for its address"),
        ("--env environment", "a variable"),
    ):
        text = f"{what}; ${{VARIABLE}} in it is read when the server is used"
        adding.option(f"{option} NAME=VALUE...", text, type=pair)
    adding.option("--replace", "in place of a server of this name")
    adding.option("name SERVER", "what agents call it")
    adding.option(
        "server_command COMMAND",
        "the program and its arguments, or an address",
        nargs=argparse.REMAINDER,
        action=_ServerCommand,
        type=None,
    )
    removing = parser.verb("remove", "remove a server from ~/.maverick/mcp.json", "mcp:remove_server")
    removing.option("name SERVER", "the server")
    _add_signing_in(parser)
    accepting = parser.verb(
        "accept",
        "accept tools that have changed",
        "mcp:accept",
        "Accept the tools of a server as they are now: tools that have changed since you accepted them are kept from "
        "agents.",
    )
    accepting.option("server SERVER", "the server")
    accepting.option("tool TOOL?", "the only tool to accept, as the server names it")
    _add_serving(parser)


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


def _add_signing_in(parser: CommandParser) -> None:
    login = parser.verb(
        "login",
        "sign in to a server at a URL, in your browser",
        "mcp:login",
        "Sign in to an MCP server at a URL, in your browser. The tokens are kept in the system's keyring, if the package "
        "keyring is installed, else in a file that only you can read.",
    )
    login.option("server SERVER", "the server")
    login.option("--no-browser", "only show the address to sign in at; open no browser")
    login.option(
        "--client-id ID",
        "a program that you have registered at its authorization server, if that does not register Maverick by itself",
        default="",
    )
    login.option(
        "--port PORT",
        "the port that the browser comes back to, http://127.0.0.1:PORT/callback; by default any",
        type=_PORT,
        default=0,
    )
    logout = parser.verb("logout", "forget the tokens of a sign-in to a server", "mcp:logout")
    logout.option("server SERVER", "the server")


def _add_serving(parser: CommandParser) -> None:
    serve = parser.verb(
        "serve",
        "serve your tasks to other programs",
        "mcp_serve:serve",
        "Serve tasks over MCP. By default to the program that starts this one, over its standard "
        "input and output; with --port, over HTTP to users who have a token.",
    )
    serve.option("--user USER", "whose tasks to serve over standard input; by default yours")
    serve.option(
        "--database PATH",
        "where tasks are kept: a file or a postgresql:// address; by default what is configured",
        type=str,
    )
    serve.option("--port PORT", "serve over HTTP on this port", type=_PORT)
    serve.option("--host HOST", "the address to serve on (default: this machine only)", default="127.0.0.1")
    serve.option("--allowed-host allowed_hosts NAME...", "another host name that HTTP requests may use")
    serve.option(
        "--tokens FILE", "who may use it over HTTP: a line “user token” for each, kept to yourself", type=str
    )


def add_trust(parser: CommandParser) -> None:
    """Add the arguments of ``trust``."""
    parser.describe(
        "Trust a project. What its files say about where data goes and what runs (address, key and provider of the model, "
        "where runs and conversations are kept, MCP servers, permissions that allow something, agents, modules, skills, "
        "instructions) applies only then. A settings file that changes must be trusted again; agents, modules, skills and "
        "instructions are trusted with the folder, whatever they say later. MAVERICK_TRUST names more trusted folders.",
        "trust:trust",
    )
    parser.option("path PATH?", "the project's folder; by default this one")
    doing = parser.add_mutually_exclusive_group()
    parser.option("--list listing", "list the folders that are trusted", to=doing)
    parser.option("--remove", "stop trusting the folder", to=doing)


def add_config(parser: CommandParser) -> None:
    """Add the verbs of ``config``."""
    parser.description = (
        "Settings: the defaults, then ~/.maverick/config.yaml, then ./maverick.yaml, then the environment, "
        "each over the one before."
    )
    show = parser.verb(
        "show",
        "show what will be used, and where it was set",
        "config:show_settings",
        "Show every setting and MCP server as it will be used, and where it was set. A key is never shown.",
    )
    getting = parser.verb("get", "show what will be used for one setting", "config:get_setting")
    getting.option("key KEY", "the setting, such as agent.model (see `maverick config show`)")
    path = parser.verb("path", "show where settings are read from", "config:show_files")
    for reading in (show, getting, path):
        add_json(reading)
    setting = parser.verb(
        "set",
        "write a setting",
        "config:set_setting",
        "Write a setting to ~/.maverick/config.yaml; the rest of the file stays as it is. A value that is left out is read "
        "from standard input, and a key is asked for, so that it does not stay in your shell's history.",
    )
    setting.option("key KEY", "the setting, such as agent.model (see `maverick config show`)")
    setting.option("value VALUE?", "its value")
    setting.option("--project", "write it to ./maverick.yaml instead")
    unset = parser.verb("unset", "remove a setting from ~/.maverick/config.yaml", "config:unset_setting")
    unset.option("key KEY", "the setting, such as agent.model")
    unset.option("--project", "remove it from ./maverick.yaml instead")
    init = parser.verb(
        "init", "write ~/.maverick/config.yaml, with every setting in a comment", "config:write_file"
    )
    init.option("--project", "write ./maverick.yaml instead")
    init.option("--force", "overwrite an existing file")


def add_models(parser: CommandParser) -> None:
    """Add the arguments of ``models``."""
    parser.describe(
        "List models: how many tokens they read, what they cost (US dollars per million tokens), when they are retired, and "
        "what they take. Prices are those of the vendors' lists.",
        "models:list_models",
    )
    parser.option(
        "pattern PATTERN?",
        "part of a name, or a pattern such as x-ai/grok-4*; default: the current models of Claude and OpenAI",
    )
    add_names(parser)
    add_json(parser)


def add_doctor(parser: CommandParser) -> None:
    """Add the arguments of ``doctor``."""
    parser.describe(
        "Check what Maverick works with: settings, keys (only whether they are set), the journal, "
        "agents, MCP servers (none is started), optional packages and programs. The exit code is 1 if something is wrong.",
        "doctor:examine",
    )
    parser.option(
        "--fix",
        "repair what needs no decision: who may read ~/.maverick, a retired model, completion in bash and fish",
    )
    add_json(parser)


_COMPLETION = """\
Write the completion script of your shell. Save it where the shell looks:

  bash   maverick completion bash > ~/.local/share/bash-completion/completions/maverick
  zsh    maverick completion zsh > ~/.zfunc/_maverick     (with fpath+=~/.zfunc before compinit)
  fish   maverick completion fish > ~/.config/fish/completions/maverick.fish"""


def add_completion(parser: CommandParser) -> None:
    """Add the arguments of ``completion``."""
    parser.describe(_COMPLETION, "completion:write_script", epilog="")
    parser.option("shell SHELL", "bash, zsh or fish", choices=("bash", "zsh", "fish"), type=None)
