"""``maverick serve``: the Chat API and its web page."""
