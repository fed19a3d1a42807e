"""``maverick agents``: the agents there are, what each of them is, and new ones."""
