"""What may be written after ``maverick mcp``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, whole_number


def add_arguments(parser: CommandParser) -> None:
    """Add the commands of ``mcp`` and their arguments."""
    parser.description = "Let other programs use your tasks over the Model Context Protocol."
    parser.set_defaults(command=parser.show_help)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="serve your tasks to the program that starts this one, or over HTTP",
        description="Serve tasks over MCP. By default to the program that starts this one, over its standard "
        "input and output; with --port, over HTTP to whoever has a token.",
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
        "--tokens",
        metavar="FILE",
        help="who may use it over HTTP: a line “user token” for each, kept to yourself",
    )
    serve.set_defaults(command=_serve)


def _serve(options: argparse.Namespace) -> int:
    from maverick.cli.mcp.serving import serve  # here, since it brings the database and MCP with it

    return serve(options)
