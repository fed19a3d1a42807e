"""``maverick runs``: looking at the runs of a journal, deciding on what they wait for, and continuing them."""
