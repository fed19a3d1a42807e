"""Cassettes: record any client's traffic to a readable file, and replay it without a network.

Record with ``RecordingClient(client, "run.json")``; replay with ``connect("cassette:run.json")``.
"""

from maverick.exceptions import CassetteMissError
from maverick.providers.cassette.difference import Difference
from maverick.providers.cassette.recording import RecordingClient
from maverick.providers.cassette.replay import CassetteClient, connect

__all__ = ["CassetteClient", "CassetteMissError", "Difference", "RecordingClient", "connect"]
