"""``maverick config``: what is set and where it was set, and a file to set it in."""
