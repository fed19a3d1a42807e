"""The agent a person means, by its name, by the file it is in, or the general one; and the model that answers for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from maverick.agents import registry
from maverick.agents.discovery import GENERAL, DiscoveredAgent, Discovery, Origin
from maverick.agents.python_source import definitions_in, load_python
from maverick.agents.registry import Registered
from maverick.agents.running import agent_executor, has_own_executor
from maverick.config import AgentConfig, MaverickConfig
from maverick.exceptions import AgentNotFoundError, InvalidInputError, describe_unknown
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.loop.definition import AgentTool
from maverick.providers.resolve import ResolvedModel, resolve
from maverick.runtime import AgentExecutor


def discovery(config: MaverickConfig) -> Discovery:
    """Where agents are looked for, as the person has set it."""
    return Discovery(modules=config.agents)


def look_up(source: str | None, config: MaverickConfig) -> DiscoveredAgent:
    """The agent that is meant by a name, a Markdown file, a Python file (with ``:NAME`` if it has several), or by nothing."""
    source = source or GENERAL.name
    path, name = split_source(source)
    if path.endswith(".py"):
        return _in_python(path, name)
    if path.endswith(".md"):
        from maverick.agents.markdown import read_agent  # here, since few agents are files

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


def named_file(source: str | None) -> str | None:
    """The file that was named as an agent, if one was: what has a name is found by it."""
    path, _ = split_source(source or "")
    return path if path.endswith((".py", ".md")) else None


def _in_python(path: str, name: str) -> DiscoveredAgent:
    module = load_python(path, "agent")
    definitions = list(dict.fromkeys(definitions_in(module)))
    agents: dict[str, Registered] = {definition.name: definition for definition in definitions}
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


def runnable(found: DiscoveredAgent, config: MaverickConfig) -> AgentDefinition[Any]:
    """What runs an agent, in a command whose runs are kept."""
    definition = found.runnable(config)
    if definition is None:
        raise InvalidInputError(
            f"The agent {found.name!r} is a class that has no runs. Run it with: maverick run {found.name}",
            field="agent",
        )
    return definition


def find_agent(source: str, name: str) -> DiscoveredAgent:
    """An agent of a Python file, or of a module by its dotted name.

    Its definitions are those it registers, those it has as global names, and those that are tools of these.
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


def who_answers(
    found: DiscoveredAgent, definition: AgentDefinition[Any], wanted: str | None, settings: AgentConfig
) -> ResolvedModel | None:
    """The model that answers for an agent; that it and those of its subagents can be reached is checked.

    ``None`` if the agent's module brings its own executor, and with it the model. ``wanted`` is the ``provider:model`` that
    was asked for, if one was.
    """
    if has_own_executor(found):
        return None
    answering = resolve(settings, wanted=wanted, named=definition.model_config.model).check()
    if answering.provider != "offline":  # else nothing that costs anything is wanted
        for agent in with_subagents([definition]):
            if agent is not definition and agent.model_config.model is not None:
                resolve(settings, named=agent.model_config.model).check()
    return answering


def explain_stand_in(answering: ResolvedModel | None) -> str:
    """Why the offline model answers; empty if it was asked for."""
    if answering is None or not answering.is_stand_in:
        return ""
    return f"offline model: {answering.stand_in_reason}"


def user_executor(
    agent: DiscoveredAgent, config: MaverickConfig, journal: Journal, user_id: str | None
) -> AbstractAsyncContextManager[AgentExecutor]:
    """The executor of an agent for one of its users."""
    return agent_executor(agent, config, journal, user_id=user_id)
