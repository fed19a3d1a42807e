"""``maverick users``: who uses the server, and deleting all that is kept of one."""
