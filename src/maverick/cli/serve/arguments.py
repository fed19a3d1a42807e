"""What may be written after ``maverick serve``."""

from __future__ import annotations

import argparse

from maverick.cli.parser import CommandParser, dollars, whole_number


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments of ``serve``."""
    parser.description = "Serve the Chat API and its web page, and open the page."
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
        help="a name the server may be called by, besides that of --host, localhost and addresses; can be given again",
    )
    parser.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        help="who answers; by default the configured model, or the offline one when none is configured and there is no key",
    )
    parser.add_argument(
        "--database",
        metavar="PATH",
        help="where conversations and tasks are kept: a file, or a postgresql:// address",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    parser.add_argument(
        "--signup",
        action=argparse.BooleanOptionalAction,
        help="let anybody make an account (default: only when nobody but this machine can reach the server)",
    )
    parser.add_argument(
        "--oidc-issuer", metavar="URL", help="take the tokens of this sign-in service instead"
    )
    parser.add_argument("--oidc-audience", metavar="NAME", help="what those tokens have to be meant for")
    parser.add_argument(
        "--max-spend", type=dollars, metavar="USD", help="what the model may cost for a user in a day"
    )
    parser.set_defaults(command=_serve)


def _serve(options: argparse.Namespace) -> int:
    from maverick.cli.serve.command import serve  # here, since it brings the whole server with it

    return serve(options)
