"""Runs on many machines: Temporal decides which worker drives a run, and its journal in Postgres says what happened.

A run in a fleet is an ordinary run, driven by the ordinary executor. It needs the extra ``temporal``.
"""

from maverick.config.installation import extra_needed

with extra_needed("temporal", "A fleet"):
    from maverick.fleet.client import Fleet
    from maverick.fleet.run import FleetRun

__all__ = ["Fleet", "FleetRun"]
