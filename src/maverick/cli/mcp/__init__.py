"""``maverick mcp``: tools of MCP servers for agents, and one's tasks for other programs."""
