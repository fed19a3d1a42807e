"""The cases that are evaluated, with their agents: from YAML and Python files, as far as the user trusts these."""

from __future__ import annotations

import argparse
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.python_source import load_python
from maverick.cli.agent_lookup import explain_stand_in, look_up, runnable, split_source, who_answers
from maverick.cli.run_options import RunOptions
from maverick.cli.screen import Screen
from maverick.config import MaverickConfig
from maverick.config.own_files import persons_home
from maverick.config.trust import Trust
from maverick.evals import Case
from maverick.evals.cases_file import CasesFile
from maverick.exceptions import InvalidInputError
from maverick.loop import AgentDefinition
from maverick.providers.resolve import resolve


class Suite(NamedTuple):
    """The cases of a file, and their agent with what the options change about it."""

    file: str
    cases: list[Case]
    found: DiscoveredAgent
    definition: AgentDefinition[Any]
    live: bool
    """Whether a model is asked."""


def read_suites(options: argparse.Namespace, config: MaverickConfig, screen: Screen) -> list[Suite]:
    """The cases that were asked for, file by file."""
    if options.judge_model is not None:
        resolve(config.agent, wanted=options.judge_model).check()
    suites = []
    for file in options.files:
        cases, found = _read(file, options.agent, config)
        if options.only:
            cases = [case for case in cases if any(fnmatchcase(case.name, name) for name in options.only)]
        if cases:
            suites.append(_suite(file, cases, found, options, config, screen))
    if not suites:
        names = ", ".join(options.only) or "any name"
        raise InvalidInputError(f"No case has the name {names}.", field="only")
    return suites


def _suite(
    file: str,
    cases: list[Case],
    found: DiscoveredAgent,
    options: argparse.Namespace,
    config: MaverickConfig,
    screen: Screen,
) -> Suite:
    own, model = runnable(found, config), None
    live = options.model is not None or any(case.run is None for case in cases)
    if live and (answering := who_answers(found, own, options.model, config.agent)) is not None:
        model = answering.model
        if remark := explain_stand_in(answering):
            screen.remark(f"({remark})")
    # What all of it may cost is no limit of a single run.
    changes = RunOptions.from_options({**vars(options), "max_cost_usd": None})
    definition = changes.applied_to(own, model)
    return Suite(file, cases, replace(found, agent=definition), definition, live)


def _read(file: str, agent: str | None, config: MaverickConfig) -> tuple[list[Case], DiscoveredAgent]:
    if split_source(file)[0].endswith(".py"):
        found = look_up(agent or file, config)
        names = found.namespace if agent is None else vars(load_python(split_source(file)[0], "file"))
        cases = names.get("cases")
        if not isinstance(cases, list) or not all(isinstance(case, Case) for case in cases):
            raise InvalidInputError(f"{file} has no cases. Write: cases = [Case(…), …]", field="cases")
        return cases, found
    here = Path.cwd()
    is_ours = Path(file).resolve().is_relative_to(here.resolve())
    written = CasesFile(Path(file), trusted=is_ours and Trust(persons_home()).covers_folder(here))
    named = agent or written.agent
    if named is None:
        problem = f"{file} names no agent. Add a line such as `agent: reporter`, or name one with --agent."
        raise InvalidInputError(problem, field="agent")
    return written.cases(), look_up(named, config)
