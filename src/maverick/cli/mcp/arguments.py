"""What may be written after ``maverick mcp``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, unicode_text, whole_number


def add_arguments(parser: CommandParser) -> None:
    """Add the commands of ``mcp`` and their arguments."""
    parser.description = (
        "MCP servers whose tools agents get: those of ~/.maverick/config.yaml, maverick.yaml and .mcp.json. And the "
        "other way round: your tasks as an MCP server for other programs."
    )
    parser.set_defaults(command=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_listing(commands.add_parser("list", help="list MCP servers and their tools"))
    _add_accepting(commands.add_parser("accept", help="accept tools that have changed"))
    _add_serving(commands.add_parser("serve", help="serve your tasks to other programs"))


def _add_listing(listing: CommandParser) -> None:
    listing.description = (
        "List MCP servers. Each is connected to, for its tools; one that only the project names is not started before "
        "you trust the project."
    )
    listing.add_argument("servers", metavar="SERVER", nargs="*", type=unicode_text, help="only these")
    listing.add_argument("--json", action="store_true", dest="as_json", help="write JSON, for other programs")
    listing.set_defaults(command=_list)


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
    accepting.set_defaults(command=_accept)


def _add_serving(serve: CommandParser) -> None:
    serve.description = (
        "Serve tasks over MCP. By default to the program that starts this one, over its standard "
        "input and output; with --port, over HTTP to whoever has a token."
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
        help="a name it may be called by over HTTP, besides that of --host and localhost; can be given again",
    )
    serve.add_argument(
        "--tokens",
        metavar="FILE",
        help="who may use it over HTTP: a line “user token” for each, kept to yourself",
    )
    serve.set_defaults(command=_serve)


def _list(options: argparse.Namespace) -> int:
    from maverick.cli.mcp.listing import list_servers  # here, since it brings MCP with it

    return list_servers(options.servers, as_json=options.as_json)


def _accept(options: argparse.Namespace) -> int:
    from maverick.cli.mcp.accepting import accept  # here, since it brings MCP with it

    return accept(options.server, options.tool)


def _serve(options: argparse.Namespace) -> int:
    from maverick.cli.mcp.serving import serve  # here, since it brings the database and MCP with it

    return serve(options)
