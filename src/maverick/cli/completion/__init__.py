"""``maverick completion``: what the shell needs to complete commands, options and names of agents."""
