"""Tools of MCP servers, for agents: the connection to a server, and its tools as ours.

Loaded when it is used, since the ``mcp`` package is an extra.
"""

from maverick.config.installation import extra_needed

with extra_needed("mcp", "Using MCP servers"):
    from maverick.tools.mcp.connection import MCPConnection
    from maverick.tools.mcp.prompts import (
        ServerPrompt,
        ServerResource,
        expand_prompt,
        list_prompts,
        list_resources,
        prompts_of,
        read_resource,
    )
    from maverick.tools.mcp.questions import AskModel, AskUser, Question, Sample
    from maverick.tools.mcp.server_address import ServerAddress
    from maverick.tools.mcp.servers import ConfiguredServer, connected_servers, plugged_in
    from maverick.tools.mcp.toolset import MCPTool, MCPToolset, ToolPins

__all__ = [
    "AskModel", "AskUser", "ConfiguredServer", "MCPConnection", "MCPTool", "MCPToolset", "Question", "Sample",
    "ServerAddress", "ServerPrompt", "ServerResource", "ToolPins", "connected_servers", "expand_prompt",
    "list_prompts", "list_resources", "plugged_in", "prompts_of", "read_resource",
]  # fmt: skip
