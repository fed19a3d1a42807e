"""The agents that ``maverick serve`` was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from msgspec import structs

from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.named_tools import names_coding_tools
from maverick.agents.running import agent_executor, has_own_executor, offered_agents
from maverick.agents.skills import load_skills
from maverick.cli.agent_lookup import explain_stand_in, find_agent, look_up, who_answers
from maverick.cli.models import offered_models
from maverick.cli.screen import Screen
from maverick.config import MaverickConfig
from maverick.exceptions import ConfigError, InvalidInputError
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.server import ServedAgent


def served_agents(
    sources: Iterable[str],
    config: MaverickConfig,
    journal: Journal,
    screen: Screen,
    model: str | None = None,
    *,
    offered: Sequence[str] | None = (),
    in_fleet: bool = False,
) -> list[ServedAgent]:
    """The agents to serve, each run as the command line runs it.

    A source is the name of an agent, a Markdown file, a Python file or a module, the last two with ``:NAME`` after them
    for one agent. ``model`` answers in place of each agent's own. Users may choose between the models ``offered``;
    ``None`` stands for the current ones of the provider that answers. Where workers run them, ``in_fleet``, no model is
    needed here.
    """
    found = [agent for source in sources for agent in _found(source, config)]
    problems: list[ConfigError] = []
    served = []
    for agent in found:
        definition = agent.runnable(config)
        if type(definition) is not AgentDefinition:
            raise InvalidInputError(
                f"{agent.name}: an agent that is a class takes no messages, so it cannot be served. Use "
                "`maverick run` for it.",
                field="agents",
            )
        try:
            answering = None if in_fleet else who_answers(agent, definition, model, config.agent)
        except ConfigError as error:  # it is listed as not available, with the reason
            problems.append(error)
            answering = None
        if answering is not None:
            definition = replace(
                definition, model_config=replace(definition.model_config, model=answering.model)
            )
            if remark := explain_stand_in(answering):
                screen.remark(f"({agent.name}: {remark})")
        agent = structs.replace(agent, agent=definition)  # noqa: PLW2901 - the same agent, on its model
        opened = partial(agent_executor, agent, config, journal)
        is_own = has_own_executor(agent)
        models = [] if is_own or answering is None else _choices(answering.model, offered)
        has_skills = not in_fleet and names_coding_tools(definition)
        skills = partial(load_skills, Path.cwd()) if has_skills else None
        served.append(ServedAgent(definition, opened, for_each_user=is_own, models=models, skills=skills))
    if problems and len(problems) == len(served):
        raise problems[0]
    for problem in problems:
        screen.remark(f"(not available: {problem})")
    return served


def _choices(model: str, offered: Sequence[str] | None) -> list[str]:
    """The models to choose between: none if there is only one."""
    others = offered_models(model.partition(":")[0]) if offered is None else offered
    found = list(dict.fromkeys((model, *others)))
    return found if len(found) > 1 else []


def _found(source: str, config: MaverickConfig) -> Iterator[DiscoveredAgent]:
    path, _, name = source.rpartition(":")
    if path and not path.endswith(".py"):
        yield find_agent(path, name)
    elif path or not (source.endswith((".py", ".md")) or "." in Path(source).name):
        yield look_up(source, config)
    else:
        yield from offered_agents(config, [source]).values()
