"""``maverick eval``: cases for agents, run and compared with the last time."""
