"""An agent that talks slowly, so that its worker can be stopped meanwhile, and faster at the third attempt.

``TALKS`` names a file with a byte for each attempt.
"""

from __future__ import annotations

import os
from pathlib import Path

from maverick import AgentDefinition, AgentExecutor
from maverick.model import Request
from maverick.providers.scripted import TurnLike
from maverick.testing import ScriptedClient, reply

SPEECH = " ".join(f"wörd{number}" for number in range(60))

talker: AgentDefinition[str] = AgentDefinition(name="talker", description="Talks.")


def talk(_: Request) -> TurnLike:
    """What the model says."""
    with Path(os.environ["TALKS"]).open("ab") as talks:
        talks.write(b".")
        return reply(SPEECH, pace=0.2 if talks.tell() < 3 else 0.03)


def executor(definition: AgentDefinition[str], user_id: str | None) -> AgentExecutor:
    """What runs the agent."""
    return AgentExecutor(ScriptedClient(talk))
