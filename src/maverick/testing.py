"""What an agent is tested with: a client that follows a script, and a switch that keeps tests off the network."""

from maverick.providers.network import allow_network, forbid_network
from maverick.providers.scripted import ScriptedClient, Turn, TurnLike, call, calls, fail, reply, turn
from maverick.runtime.cassette import RecordingClient

__all__ = [
    "RecordingClient", "ScriptedClient", "Turn", "TurnLike", "allow_network", "call", "calls", "fail",
    "forbid_network", "reply", "turn",
]  # fmt: skip
