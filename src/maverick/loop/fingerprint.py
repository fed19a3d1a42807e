"""What an agent was when a run began, so that a changed one is noticed when the run is resumed (promise P10)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from maverick.loop.definition import AgentDefinition
from maverick.model import Message, Tool


class Fingerprint(Struct, frozen=True):
    """Hashes of what a run depends on."""

    agent: str
    """The agent's name; not a hash."""
    prompt: str
    model: str
    """The model that the agent names; not a hash. Empty when it names none."""
    output: str
    tools: dict[str, str]

    @classmethod
    def of(cls, definition: AgentDefinition[Any], tools: Mapping[str, Tool]) -> Fingerprint:
        """The fingerprint of a definition and the tools it was given."""
        prompt, output = definition.prompt_config, definition.output_config
        first = [m.content if isinstance(m, Message) else m for m in prompt.initial_messages]
        return cls(
            definition.name,
            _hash([prompt.system_prompt, first]),
            definition.model_config.model or "",
            "" if output is None else _hash([output.output_name, dict(output.format.json_schema)]),
            {name: hash_tool(tool) for name, tool in tools.items()},
        )

    def changes(self, now: Fingerprint) -> list[str]:
        """What is different now, in words."""
        said = [
            f"the {noun} has changed"
            for noun, before, after in (
                ("agent's name", self.agent, now.agent),
                ("prompt", self.prompt, now.prompt),
                # Whoever names no model leaves it to the client, which may be another one each time.
                ("model", self.model if now.model else "", now.model),
                ("output's type", self.output, now.output),
            )
            if before != after
        ]
        said += [f"the tool {name!r} is gone" for name in self.tools.keys() - now.tools.keys()]
        said += [f"the tool {name!r} is new" for name in now.tools.keys() - self.tools.keys()]
        said += [
            f"the tool {name!r} has changed"
            for name in self.tools.keys() & now.tools.keys()
            if self.tools[name] != now.tools[name]
        ]
        return sorted(said)


def hash_tool(tool: Tool) -> str:
    """A hash of what a tool tells the model it is and does."""
    return _hash([tool.name, tool.description, dict(tool.parameters)])


def _hash(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted", enc_hook=repr)).hexdigest()[:32]
