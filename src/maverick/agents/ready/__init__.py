"""Agents that Maverick comes with. ``maverick agents list`` shows them; each is an example of how one is written."""
