"""Whole runs on the Claude Code CLI: the model ``claude-code:…`` and the CLI's own tools.

The loop stays the one that decides. A message of the CLI is one turn; a tool it asks for is run when the loop says so,
and it asks its model again when the loop does. ``docs/design/claude_cli_runs.md`` has the reasons.
"""
