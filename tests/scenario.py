"""Small agents for tests, and a record of what became of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from maverick import (
    AgentDefinition,
    AgentExecutor,
    AgentResult,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
)
from maverick.loop.events import AgentActivityEvent
from maverick.model import Message, Role, Tool
from maverick.providers.scripted import Script
from maverick.testing import ScriptedClient

E = TypeVar("E", bound=AgentActivityEvent)


def agent(
    *tools: Tool | str,
    name: str = "worker",
    ask: str = "Do it.",
    model: ModelConfig | None = None,
    output: OutputConfig[Any] | None = None,
    tool_settings: dict[str, Any] | None = None,
    **limits: Any,
) -> AgentDefinition[Any]:
    """An agent with these tools; ``limits`` are fields of its ``RunConfig``, and retries wait a millisecond."""
    return AgentDefinition(
        name=name,
        description=f"The {name} of a test.",
        prompt_config=PromptConfig(initial_messages=[ask]),
        model_config=model or ModelConfig(),
        run_config=RunConfig(**{"retry_delay": 0.001} | limits),
        tool_config=ToolConfig(tools=tools, **tool_settings or {}),
        output_config=output,
    )


@dataclass
class Watched:
    """A run that was watched to its end."""

    client: ScriptedClient
    events: list[AgentActivityEvent] = field(default_factory=list)
    result: AgentResult[Any] = field(init=False)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def types(self) -> list[str]:
        """The types of all events, in order."""
        return [event.type for event in self.events]


async def watch(
    script: Script | ScriptedClient,
    definition: AgentDefinition[Any],
    *,
    executor: dict[str, Any] | None = None,
    **options: Any,
) -> Watched:
    """Run an agent with a listener; ``executor`` has settings of the executor, ``options`` those of the run."""
    client = script if isinstance(script, ScriptedClient) else ScriptedClient(script)
    watched = Watched(client)
    made = AgentExecutor(client, **executor or {})
    watched.result = await made.execute(definition, on_activity=watched.events.append, **options)
    return watched


async def run(
    script: Script | ScriptedClient, definition: AgentDefinition[Any], **options: Any
) -> AgentResult[Any]:
    """Run an agent that nobody watches."""
    client = script if isinstance(script, ScriptedClient) else ScriptedClient(script)
    return await AgentExecutor(client).execute(definition, **options)


def results_in(messages: Sequence[Message]) -> list[str]:
    """What the tools answered, in the order of a conversation."""
    return [message.content for message in messages if message.role is Role.TOOL_RESULT]


def assert_valid(messages: Sequence[Message]) -> None:
    """Every tool call is followed, at once and in order, by its one result; no id is used twice."""
    seen: set[str] = set()
    open_ids: list[str] = []
    for message in messages:
        if message.role is Role.TOOL_RESULT:
            assert open_ids, f"the result of {message.tool_call_id} answers no call"
            assert message.tool_call_id == open_ids.pop(0)
            continue
        assert not open_ids, f"calls without result: {open_ids}"
        open_ids = [call.id for call in message.tool_calls]
        assert len(set(open_ids)) == len(open_ids)
        assert not seen & set(open_ids), "an id of an earlier turn is used again"
        assert "" not in open_ids
        seen |= set(open_ids)
    assert not open_ids, f"calls without result: {open_ids}"
