"""``maverick tui``: starts the screen with the agents, settings and journal of the person at the terminal."""
