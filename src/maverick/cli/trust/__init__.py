"""``maverick trust``: what of a project holds, and the question whether it may."""
