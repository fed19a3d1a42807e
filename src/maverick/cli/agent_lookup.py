"""The agent a person means: by its name, by the file it is in, or the general one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from maverick.agents import registry
from maverick.agents.discovery import GENERAL, DiscoveredAgent, Discovery, Origin
from maverick.agents.markdown import read_agent
from maverick.agents.python_source import definitions_in, load_python
from maverick.agents.registry import Registered
from maverick.config import MaverickConfig
from maverick.exceptions import AgentNotFoundError, InvalidInputError, describe_unknown
from maverick.loop import AgentDefinition
from maverick.loop.definition import AgentTool


def discovery(config: MaverickConfig) -> Discovery:
    """Where agents are looked for, as the person has set it."""
    return Discovery(modules=config.agents)


def look_up(source: str | None, config: MaverickConfig) -> DiscoveredAgent:
    """The agent that is meant.

    Args:
        source: A name; a Markdown file; a Python file, with ``:NAME`` after it if it has several agents; or nothing.
        config: What the person has set.

    Raises:
        AgentNotFoundError: No agent has this name.
        InvalidInputError: The file is missing or wrong, or has no agent, or several.
    """
    source = source or GENERAL.name
    path, name = split_source(source)
    if path.endswith(".py"):
        return _in_python(path, name)
    if path.endswith(".md"):
        read = read_agent(Path(path))
        return DiscoveredAgent(
            read.definition.name, read.definition, Origin.PROJECT, path, read.missing_tools
        )
    if len(Path(path).parts) > 1 or (Path(path).suffix and Path(path).is_file()):
        raise InvalidInputError(
            f"{source!r} is neither the name of an agent nor a file that ends with .md or .py. "
            "`maverick agents list` shows the agents there are.",
            field="agent",
        )
    return discovery(config).find(source)


def split_source(source: str) -> tuple[str, str]:
    """A file and the agent in it that is meant, if both are named."""
    path, colon, name = source.rpartition(":")
    return (path, name) if colon and path.endswith(".py") else (source, "")


def _in_python(path: str, name: str) -> DiscoveredAgent:
    agents: dict[str, Registered] = {}
    module = load_python(path, "agent")
    definitions = list(dict.fromkeys(definitions_in(module)))
    for definition in definitions:
        agents[definition.name] = definition
    agents |= registry.get_all()
    if name:
        if name not in agents:
            raise InvalidInputError(f"{path}: {describe_unknown('agent', name, list(agents))}", field="agent")
        return DiscoveredAgent(name, agents[name], Origin.REGISTERED, path, namespace=vars(module))
    called = _called_by_others(definitions)
    callers = [definition.name for definition in definitions if definition.name not in called]
    if len(callers) != 1:  # else it is that one, whatever its imports have registered
        callers = [agent for agent in agents if agent not in called]
    if len(callers) != 1:
        has = f"has {len(callers)} agents: {', '.join(callers)}" if callers else "has no agent"
        advice = f"Name one of them: {path}:{callers[0]}" if callers else "Define one with AgentDefinition(…)"
        raise InvalidInputError(f"{path} {has}. {advice}", field="agent")
    return DiscoveredAgent(callers[0], agents[callers[0]], Origin.REGISTERED, path, namespace=vars(module))


def _called_by_others(definitions: Sequence[AgentDefinition[Any]]) -> set[str]:
    """The names of agents that are tools of others: naming the file does not mean them."""
    return {
        tool.definition.name
        for definition in definitions
        for tool in definition.tool_config.tools
        if isinstance(tool, AgentTool)
    }


def find_agent(source: str, name: str) -> DiscoveredAgent:
    """An agent of a Python file or module.

    Its definitions are those it registers, those it has as global names, and those that are tools of these.

    Args:
        source: A path that ends with ``.py``, or the dotted name of a module.
        name: The agent's name.

    Raises:
        InvalidInputError: The source is missing or fails, or has several agents of this name.
        AgentNotFoundError: It has none of this name; the message has the nearest.
    """
    module = load_python(source)
    registered = [one for one in registry.get_all().values() if isinstance(one, AgentDefinition)]
    found = dict.fromkeys(with_subagents([*definitions_in(module), *registered]))
    named: list[Registered] = [definition for definition in found if definition.name == name]
    if not named and name in registry:
        named = [registry.get(name)]
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
    return DiscoveredAgent(name, named[0], Origin.REGISTERED, source, namespace=vars(module))


def with_subagents(definitions: Iterable[AgentDefinition[Any]]) -> Iterator[AgentDefinition[Any]]:
    """Definitions, and those that are tools of theirs."""
    for definition in definitions:
        yield definition
        tools = definition.tool_config.tools
        yield from with_subagents(tool.definition for tool in tools if isinstance(tool, AgentTool))
