"""Runs on many machines: Temporal decides which worker drives a run, and its journal in Postgres says what happened.

A run in a fleet is an ordinary run, driven by the ordinary executor. It needs the extra ``temporal``.
"""

from importlib.util import find_spec

from maverick.exceptions import AgentError, ErrorKind

if find_spec("temporalio") is None:
    from maverick.config.installation import install_command  # here, since it is seldom wanted

    raise AgentError(
        f"A fleet needs the package 'temporalio', which is not installed. Run: {install_command('temporal')}",
        kind=ErrorKind.INVALID,
    )

from maverick.fleet.client import Fleet, FleetRun

__all__ = ["Fleet", "FleetRun"]
