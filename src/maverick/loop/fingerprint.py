"""What an agent was when a run began, so that a change is noticed when the run is resumed (promise P10)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from maverick.loop.definition import AgentDefinition
from maverick.model import Effect, Message, Tool


class Fingerprint(Struct, frozen=True, omit_defaults=True):
    """Hashes of what a run depends on."""

    agent: str
    """The agent's name; not a hash."""
    prompt: str
    model: str
    """The model that the agent names; not a hash. Empty when it names none."""
    output: str
    tools: dict[str, str]
    """By tool, a hash of what it tells the model. Empty for a tool that Maverick brings along: an upgrade may word it
    better, and runs that were begun before it can still be resumed."""
    conduct: dict[str, dict[str, str]] | None = None
    """By tool, what decides how its calls are treated: its effect, whether a person is asked, how far it reaches, and
    whether it returns untrusted content. Not hashes; ``None`` in runs that were made before it was recorded."""
    hooks: tuple[str, ...] = ()
    """The hooks around its calls, by the names of their classes; not hashes."""

    @classmethod
    def of(
        cls, definition: AgentDefinition[Any], tools: Mapping[str, Tool], hooks: tuple[str, ...] = ()
    ) -> Fingerprint:
        """The fingerprint of a definition, the tools it was given and the hooks of its executor."""
        prompt, output = definition.prompt_config, definition.output_config
        first = [m.content if isinstance(m, Message) else m for m in prompt.initial_messages]
        return cls(
            definition.name,
            _hash([prompt.system_prompt, first]),
            definition.model_config.model or "",
            "" if output is None else hash_output(output.output_name, output.format.json_schema),
            hash_tools(tools.values()),
            {name: conduct_of(tool) for name, tool in tools.items()},
            hooks,
        )

    @property
    def version(self) -> str:
        """A short hash of all of it: the same for agents between which nothing has changed."""
        conduct = {
            name: {trait: _treatment(trait, value) for trait, value in traits.items()}
            for name, traits in (self.conduct or {}).items()
        }
        return _hash(msgspec.structs.replace(self, conduct=conduct))[:12]

    def changes(self, now: Fingerprint) -> list[str]:
        """Descriptions of what is different now."""
        said = [
            f"the {noun} has changed"
            for noun, before, after in (
                ("agent's name", self.agent, now.agent),
                ("prompt", self.prompt, now.prompt),
                # An agent that names no model leaves it to the client, which may be another one each time.
                ("model", self.model if now.model else "", now.model),
                ("output's type", self.output, now.output),
            )
            if before != after
        ]
        said += self.lost_hooks(now)
        said += [f"the tool {name!r} is gone" for name in self.tools.keys() - now.tools.keys()]
        said += [f"the tool {name!r} is new" for name in now.tools.keys() - self.tools.keys()]
        said += [
            f"the tool {name!r} has changed"
            for name in self.tools.keys() & now.tools.keys()
            if now.tools[name] and self.tools[name] != now.tools[name]
        ]
        return sorted(said + self._conduct_changes(now))

    def lost_hooks(self, now: Fingerprint) -> list[str]:
        """Descriptions of the hooks that are not there now."""
        return [f"the hook {name!r} is gone" for name in sorted(set(self.hooks) - set(now.hooks))]

    def _conduct_changes(self, now: Fingerprint) -> list[str]:
        if self.conduct is None or now.conduct is None:
            return []
        return [
            f"the {trait!r} of the tool {name!r} has changed from {before[trait]!r} to {after[trait]!r}"
            for name, before in self.conduct.items()
            if (after := now.conduct.get(name)) is not None
            for trait in before.keys() & after.keys()
            if _treatment(trait, before[trait]) != _treatment(trait, after[trait])
        ]


def _treatment(trait: str, value: str) -> str:
    """What a trait means for a call: that approval is needed, and not in which words it is asked for."""
    return str(value != "False") if trait == "approval" else value


def hash_output(name: str, schema: Mapping[str, Any]) -> str:
    """A hash of the JSON that an answer has to be."""
    return _hash([name, dict(schema)])


def hash_tools(tools: Iterable[Tool]) -> dict[str, str]:
    """By tool, a hash of what it tells the model; empty for a tool that Maverick brings along."""
    return {tool.name: "" if _is_builtin(tool) else hash_tool(tool) for tool in tools}


def hash_offer(tools: Iterable[Tool], server_tools: Iterable[str | dict[str, Any]]) -> str:
    """A hash of all that a model is told of tools, in their order, and of the provider's own."""
    return _hash([[hash_tool(tool) for tool in tools], list(server_tools)])


def hash_tool(tool: Tool) -> str:
    """A hash of what a tool tells the model it is and does."""
    return _hash([tool.name, tool.description, dict(tool.parameters)])


def conduct_of(tool: Tool) -> dict[str, str]:
    """What decides how the calls of a tool are treated: before they run, and after a crash."""
    return {
        "effect": str(getattr(tool, "effect", Effect.IRREVERSIBLE)),
        "approval": str(getattr(tool, "approval", False)),
        "access": str(getattr(tool, "access", None)),
        "untrusted": str(getattr(tool, "untrusted", False)),
    }


def _is_builtin(tool: Tool) -> bool:
    function = getattr(tool, "function", None)
    return str(getattr(function, "__module__", "")).startswith("maverick.")


def _hash(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted", enc_hook=repr)).hexdigest()[:32]
