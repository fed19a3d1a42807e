"""What the exit code of ``maverick`` means."""

from maverick.exceptions import AgentError, ConfigError, ErrorKind

SUCCESS = 0
FAILURE = 1
"""Something failed while at work."""
MISUSE = 2
"""An option, a setting or a name is wrong; the same again fails again."""
WAITING = 3
"""The run waits for a person's decision."""
LIMIT = 4
"""The run reached a limit: turns, tokens, money, tool calls, or the length of an answer."""
REFUSED = 5
"""The model declined."""
INVALID_OUTPUT = 6
"""The answer is not of the type that was asked for."""
TIMED_OUT = 124
"""The time was up."""
SIGNALLED = 128
"""Added to the number of the signal that stopped it, as shells do."""
INTERRUPTED = 130
"""Somebody pressed Ctrl-C, or the run was stopped in another way."""


def is_misuse(error: Exception) -> bool:
    """Whether an error says that an option, a setting or a name is wrong."""
    return isinstance(error, ConfigError) or (
        isinstance(error, AgentError) and error.kind is ErrorKind.INVALID
    )
