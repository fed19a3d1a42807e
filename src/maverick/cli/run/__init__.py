"""``maverick run``: an agent at work in the terminal, from its start to its end."""
