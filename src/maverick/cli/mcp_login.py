"""``maverick mcp login`` and ``logout``: signing in to MCP servers at a URL, and out again."""

from __future__ import annotations

import argparse
import asyncio
import webbrowser
from urllib.parse import urlsplit

from maverick.cli.exit_codes import FAILURE, SUCCESS
from maverick.cli.screen import Screen
from maverick.config.mcp_servers import load_mcp_servers
from maverick.exceptions import InvalidInputError
from maverick.tools.mcp.oauth import TokenStore, sign_in


def login(options: argparse.Namespace) -> int:
    """Sign in to a server in the browser.

    Raises:
        ConfigError: There is no such server, or it is one of a project that is not trusted.
        InvalidInputError: It is a program, or is told in a header who the user is.
        NetworkError: It cannot be reached, or the sign-in failed.
    """
    url, headers = _address(options.server)
    if any(name.lower() == "authorization" for name in headers):
        raise InvalidInputError(
            f"The MCP server {options.server!r} has an Authorization header in its settings. Remove it to sign in.",
            field="headers",
        )
    screen = Screen.of_process(interactive=False)

    async def show(address: str) -> None:
        screen.remark(f"Sign in to {options.server} at {urlsplit(address).netloc}:\n{address}")
        if not options.no_browser:
            await asyncio.to_thread(webbrowser.open, address)

    wanted = asyncio.run(sign_in(url, show, headers=headers, client_id=options.client_id, port=options.port))
    screen.say(f"signed in to {options.server}\n" if wanted else f"{options.server} asks for no sign-in\n")
    return SUCCESS


def logout(options: argparse.Namespace) -> int:
    """Forget the tokens of a sign-in.

    Raises:
        ConfigError: There is no such server.
        InvalidInputError: It is a program.
    """
    url, _ = _address(options.server)
    removed = TokenStore(url).remove()
    said = "signed out of" if removed else "was not signed in to"
    Screen.of_process(interactive=False).say(f"{said} {options.server}\n")
    return SUCCESS if removed else FAILURE


def _address(name: str) -> tuple[str, dict[str, str]]:
    server = load_mcp_servers().find(name)
    if not server.url:
        raise InvalidInputError(
            f"The MCP server {name!r} is a program. Only a server with a url has a sign-in.", field="server"
        )
    address = server.address()
    return address["url"], address["headers"]
