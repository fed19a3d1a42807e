"""Looks at the MCP servers that agents can be given, as far as that goes without starting or calling one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from maverick.cli.doctor.finding import Finding, Health
from maverick.cli.screen import shortened
from maverick.config import readers
from maverick.config.installation import install_command
from maverick.config.mcp_server import MCPServer
from maverick.config.mcp_servers import load_mcp_servers
from maverick.exceptions import ConfigError, MaverickError

_CORRECT = "correct it, or remove it"
TRUST_COMMAND = "look at it, then run: maverick trust"


def examine_mcp_servers() -> Iterator[Finding]:
    """Whether each server could be used; none is started or called."""
    try:
        known = load_mcp_servers()
    except ConfigError as error:
        yield Finding("MCP servers", Health.WRONG, str(error), _CORRECT)
        return
    for name in sorted({*known.servers, *known.problems}):
        what = shortened(f"MCP {name}")
        if name in known.untrusted:
            yield Finding(what, Health.MISSING, "of this project, which you have not trusted", TRUST_COMMAND)
            continue
        try:
            server = known.find(name)
            health, problem, fix = _condition(server)
        except MaverickError as error:
            yield Finding(what, Health.WRONG, str(error), _CORRECT)
        else:
            yield Finding(what, health, f"{server.summary}, from {server.source}{problem}", fix)


def _condition(server: MCPServer) -> tuple[Health, str, str]:
    """How a server is, what is wrong with it, and what to do about it.

    Raises:
        MaverickError: What is written about it does not fit.
    """
    if find_spec("mcp") is None:
        return Health.MISSING, ", needs the package mcp", install_command("mcp")
    from maverick.tools.mcp.server_address import ServerAddress  # here, since it brings MCP with it

    if unset := server.unset_variables():
        return Health.MISSING, f", {' and '.join(unset)} not set", f"export {unset[0]}=…"
    address = ServerAddress.of(server.address())
    try:
        readers.address(address.url)
        if address.command:
            address.folder()
    except ValueError:
        return Health.WRONG, ", is no web address", "correct its url, or the variables in it"
    except FileNotFoundError as error:
        missing = "program" if error.filename == address.command[0] else "folder"
        return Health.WRONG, f", the {missing} is not there", "install it, or correct the command or cwd"
    return Health.GOOD, "", ""
