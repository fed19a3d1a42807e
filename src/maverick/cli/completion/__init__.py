"""``maverick completion``: what the shell needs to complete commands, options and names of agents."""

from maverick.cli.completion.scripts import write_script

__all__ = ["write_script"]
