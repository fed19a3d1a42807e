"""``maverick worker``, ``fleet`` and ``schedule``, and ``maverick run --on``: runs on many machines."""
