"""Programs that are started for tools, MCP servers and the Claude CLI, and that cannot outlive this process.

``supervisor.py`` is the program of the process that starts and ends them; ``program.py`` is the way to it.
"""

from maverick.processes.program import Program, Streams, run_program

__all__ = ["Program", "Streams", "run_program"]
