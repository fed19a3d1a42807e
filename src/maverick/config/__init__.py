"""What a person can set, and where each setting came from.

Settings are layered, later over earlier: the defaults, ``~/.maverick/config.yaml``, ``./maverick.yaml``, the
environment (``MAVERICK_AGENT_MODEL`` is ``agent.model``, ``MAVERICK_JOURNAL`` is ``journal``, ``MAVERICK_TEMPORAL`` is ``temporal.address``), and what the program
passes. :func:`load_config` reads them all and is the one way in; ``MaverickConfig()`` reads nothing and is the
defaults.

A key is in no ``repr`` and no error. Errors are worded from what is known about a setting, never from the text of a
file, because any line of a file may hold a key. For the same reason they have no cause: the errors of the parser
quote what they were given.
"""

from maverick.config.loading import load_config
from maverick.config.settings import (
    ARGUMENT,
    DEFAULT,
    DEFAULT_JOURNAL,
    HIDDEN,
    AgentConfig,
    MaverickConfig,
    RateLimit,
    Secret,
    Setting,
    TemporalConfig,
)

__all__ = [
    "ARGUMENT", "DEFAULT", "DEFAULT_JOURNAL", "HIDDEN", "AgentConfig", "MaverickConfig", "RateLimit",
    "Secret", "Setting", "TemporalConfig", "load_config",
]  # fmt: skip
