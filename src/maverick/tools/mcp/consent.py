"""The person's consent to MCP servers that a project defines: a stranger may have written it."""

from __future__ import annotations

from pathlib import Path

from maverick.config.mcp_server import MCPServer
from maverick.exceptions import ConfigError
from maverick.tools.mcp.accepted_hashes import AcceptedHashes


class Consent:
    """Which servers of which projects the person has agreed to, each as it was defined then.

    Args:
        file: Where that is kept; without one, as long as this object lives.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._accepted = AcceptedHashes(file)

    def is_given(self, server: MCPServer) -> bool:
        """Whether a server may be used: it is the person's own, or they have agreed to it as it is."""
        if not server.project:
            return True
        return (self._accepted.of(server.project) or {}).get(server.name) == server.digest

    def check(self, server: MCPServer) -> None:
        """See to it that a server may be used.

        Raises:
            ConfigError: It may not; the message has the command that agrees to it.
        """
        if not self.is_given(server):
            raise ConfigError(
                f"The MCP server {server.name!r} is defined by {server.source}, which you have not agreed to. Look at "
                f"it, then run: maverick mcp accept {server.name}",
                source=server.source,
                field=server.name,
            )

    def give(self, server: MCPServer) -> None:
        """Agree to a server as it is now."""
        self._accepted.add(server.project, {server.name: server.digest})
