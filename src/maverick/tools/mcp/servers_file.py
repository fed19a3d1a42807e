"""MCP servers that a person plugs in, by a file in the form other programs use for it too.

::

    {"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "some-server"], "env": {"KEY": "${FILES_KEY}"}},
        "wiki": {"url": "https://wiki.example.com/mcp",
                 "users": {"ana": {"headers": {"Authorization": "Bearer …"}}}}
    }}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from maverick.config.mcp_server import SETTINGS, MCPServer
from maverick.exceptions import ConfigError, InvalidInputError, ToolError
from maverick.tools.mcp.configured import toolset_of
from maverick.tools.mcp.pins import ToolPins
from maverick.tools.mcp.server_address import ServerAddress
from maverick.tools.mcp.toolset import MCPToolset


def plugged_in(file: Path, pins: ToolPins | None = None) -> list[MCPToolset]:
    """The tools of every server in a file; names of tools begin with their server's. No file is no server.

    A server with ``users`` is used with each user's own credentials, and by nobody else.

    Raises:
        ConfigError: The file, or a server in it, is not as it should be.
    """
    try:
        settings = msgspec.json.decode(file.read_bytes())
        servers = settings["mcpServers"].items()
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f'{file}: expected {{"mcpServers": {{"name": {{"command": …}}}}}}.', source=str(file)
        ) from error
    return [_toolset(file, name, server, pins) for name, server in servers]


def _toolset(file: Path, name: str, server: object, pins: ToolPins | None) -> MCPToolset:
    if not isinstance(server, Mapping):
        raise ConfigError(f"{file}: {name}: expected a command or a url.", source=str(file), field=name)
    settings = MCPServer.read(name, {key: server[key] for key in server if key in SETTINGS}, str(file))
    users = server.get("users")
    try:
        address = ServerAddress.of(settings.address())
        for_user = None if users is None else _with_credentials(name, address, users)
    except (InvalidInputError, TypeError, AttributeError) as error:
        raise ConfigError(f"{file}: {name}: {error}", source=str(file), field=name) from error
    return toolset_of(settings, address, ToolPins() if pins is None else pins, f"{name}_", for_user)


def _with_credentials(
    name: str, address: ServerAddress, users: Mapping[str, Mapping[str, Any]]
) -> Callable[[str], ServerAddress]:
    addresses = {
        user: address.with_credentials(env=own.get("env"), headers=own.get("headers"))
        for user, own in users.items()
    }

    def for_user(user_id: str) -> ServerAddress:
        if user_id not in addresses:
            raise ToolError(f"You have no access to {name!r}.")
        return addresses[user_id]

    return for_user
