"""The agent a person means, by its name, by the file it is in, or the general one; and the model that answers for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from maverick.agents import registry
from maverick.agents.discovery import GENERAL, DiscoveredAgent, Discovery, Origin
from maverick.agents.python_source import definitions_in, load_python
from maverick.agents.registry import Registered
from maverick.agents.running import has_own_executor
from maverick.config import AgentConfig, MaverickConfig
from maverick.exceptions import AgentNotFoundError, InvalidInputError, describe_unknown
from maverick.loop import AgentDefinition
from maverick.loop.definition import AgentTool
from maverick.providers.resolve import ResolvedModel, resolve


def discovery(config: MaverickConfig) -> Discovery:
    """Where agents are looked for, as the person has set it."""
    return Discovery(modules=config.agents)


def look_up(source: str | None, config: MaverickConfig) -> DiscoveredAgent:
    """The agent that is meant by a name, a Markdown file, a Python file (with ``:NAME`` if it has several), or by nothing."""
    source = source or GENERAL.name
    path, name = split_source(source)
    if path.endswith(".py"):
        return find_agent(path, name, field="agent")
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


def runnable(found: DiscoveredAgent, config: MaverickConfig) -> AgentDefinition[Any]:
    """What runs an agent, in a command whose runs are kept."""
    definition = found.runnable(config)
    if definition is None:
        raise InvalidInputError(
            f"The agent {found.name!r} is a class that has no runs. Run it with: maverick run {found.name}",
            field="agent",
        )
    return definition


def find_agent(source: str, name: str = "", field: str = "agents") -> DiscoveredAgent:
    """An agent of a Python file, or of a module by its dotted name.

    Its definitions are those it has as global names, then those it registers, and those that are tools of these. Without
    a name, it is the one that no other calls.
    """
    module = load_python(source, field)
    defined = list(definitions_in(module))
    registered = registry.get_all()
    name = name or _only_agent(source, defined, registered)
    own = dict.fromkeys(with_subagents(defined))
    others = dict.fromkeys(
        with_subagents(one for one in registered.values() if isinstance(one, AgentDefinition))
    )
    named: list[Registered] = [definition for definition in own if definition.name == name]
    if not named and name in registered:
        named = [registered[name]]
    named = named or [definition for definition in others if definition.name == name]
    if not named:
        known = list(dict.fromkeys([*(definition.name for definition in (*own, *others)), *registered]))
        problem = f"{source}: {describe_unknown('agent', name, known)}"
        raise AgentNotFoundError(problem, agent_name=name, available_agents=known)
    if len(named) > 1:
        raise InvalidInputError(
            f"{source} has {len(named)} agents named {name!r}, so that it is not clear which is meant. Rename all "
            "but one.",
            field=field,
        )
    return DiscoveredAgent(name, named[0], Origin.REGISTERED, source, namespace=vars(module))


def _only_agent(source: str, defined: Iterable[AgentDefinition[Any]], registered: Iterable[str]) -> str:
    """The name of the one agent that no other calls: of the source, or of all that its imports have registered."""
    called = {agent.name for definition in defined for agent in _subagents(definition)}
    callers = list(dict.fromkeys(agent.name for agent in defined if agent.name not in called))
    if len(callers) != 1:
        callers = [name for name in dict.fromkeys([*callers, *registered]) if name not in called]
    if len(callers) != 1:
        has = f"has {len(callers)} agents: {', '.join(callers)}" if callers else "has no agent"
        advice = (
            f"Name one of them: {source}:{callers[0]}" if callers else "Define one with AgentDefinition(…)"
        )
        raise InvalidInputError(f"{source} {has}. {advice}", field="agent")
    return callers[0]


def with_subagents(definitions: Iterable[AgentDefinition[Any]]) -> Iterator[AgentDefinition[Any]]:
    """Definitions, and those that are tools of theirs."""
    for definition in definitions:
        yield definition
        yield from with_subagents(_subagents(definition))


def _subagents(definition: AgentDefinition[Any]) -> list[AgentDefinition[Any]]:
    return [tool.definition for tool in definition.tool_config.tools if isinstance(tool, AgentTool)]


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
