"""The definition of a run's agent: from a file or module that a person names, or from where agents are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from maverick.agents import registry
from maverick.agents.python_source import definitions_in, load_python
from maverick.exceptions import AgentNotFoundError, InvalidInputError, describe_unknown
from maverick.loop import AgentDefinition
from maverick.loop.definition import AgentTool


def find_agent(source: str, name: str) -> AgentDefinition[Any]:
    """The definition of an agent, from a Python file or module.

    Its definitions are those it registers, those it has as global names, and those that are tools of these.

    Args:
        source: A path that ends with ``.py``, or the dotted name of a module.
        name: The agent's name.

    Raises:
        InvalidInputError: The source is missing or fails, or has several agents of this name.
        AgentNotFoundError: It has none of this name; the message has the nearest.
    """
    found = dict.fromkeys(with_subagents(definitions_from(source)))
    named = [definition for definition in found if definition.name == name]
    if not named:
        known = [definition.name for definition in found]
        problem = f"{source}: {describe_unknown('agent', name, known)}"
        raise AgentNotFoundError(problem, agent_name=name, available_agents=known)
    if len(named) > 1:
        raise InvalidInputError(
            f"{source} has {len(named)} agents named {name!r}, so that it is not clear which is meant. Rename all "
            "but one.",
            field="agents",
        )
    return named[0]


def definitions_from(source: str) -> Iterator[AgentDefinition[Any]]:
    """The definitions that a Python file or module has as global names or registers.

    Raises:
        InvalidInputError: The source is missing or fails.
    """
    yield from definitions_in(load_python(source))
    for registered in registry.get_all().values():
        if isinstance(registered, AgentDefinition):
            yield registered


def with_subagents(definitions: Iterable[AgentDefinition[Any]]) -> Iterator[AgentDefinition[Any]]:
    """Definitions, and those that are tools of theirs."""
    for definition in definitions:
        yield definition
        tools = definition.tool_config.tools
        yield from with_subagents(tool.definition for tool in tools if isinstance(tool, AgentTool))
