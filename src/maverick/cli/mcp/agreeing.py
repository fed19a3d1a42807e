"""Asks the person about MCP servers that the project they are in defines: nothing of it is started before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from maverick.cli.screen import Screen
from maverick.cli.terminal_approver import agreed
from maverick.config.mcp_server import MCPServer
from maverick.config.mcp_servers import load_mcp_servers
from maverick.tools.mcp.configured import kept_consent


async def ask_for_consent(names: Sequence[str], screen: Screen) -> None:
    """Ask about each server that the person has not agreed to yet, and keep it if they do.

    Args:
        names: The servers.
        screen: Where.

    Raises:
        ConfigError: There is no such server, or something is wrong with it, or they do not agree.
    """
    known, consent = load_mcp_servers(), kept_consent()
    for server in map(known.find, names):
        if not consent.is_given(server):
            for line in definition_lines(server):
                screen.headline(line)
            if await agreed(screen):
                consent.give(server)
        consent.check(server)


def definition_lines(server: MCPServer) -> Iterator[str]:
    """What somebody has to know who is to agree to a server."""
    verb = "called" if server.url else "started"
    yield f"{server.source} defines the MCP server {server.name!r}. May it be {verb}, now and later?"
    yield f"  {_visible(server.words)}"
    yield from _described("with", (f"{name}={text}" for name, text in server.env.items()))
    yield from _described("with", (f"{name}: {text}" for name, text in server.headers.items()))
    yield from _described("in", [server.cwd] if server.cwd else [])
    yield from _described("it gets from your environment:", [", ".join(server.variables)])


def _described(word: str, things: Iterable[str]) -> Iterator[str]:
    yield from (f"  {word} {_visible(thing)}" for thing in things if thing)


def _visible(text: str) -> str:
    """The text with nothing in it that could be overlooked, or pass for another line."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
