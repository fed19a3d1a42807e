"""What the exit code of ``maverick`` means."""

SUCCESS = 0
FAILURE = 1
"""Something failed while at work."""
MISUSE = 2
"""An option, a setting or a name is wrong; the same again fails again."""
WAITING = 3
"""The run waits for a person's decision."""
INTERRUPTED = 130
"""Somebody pressed Ctrl-C."""
