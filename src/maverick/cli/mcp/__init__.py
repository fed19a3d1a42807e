"""``maverick mcp``: one's tasks for other programs."""
