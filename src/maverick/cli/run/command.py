"""Runs an agent as the command line asks for it."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import structs

from maverick.agents.conversations import (
    Conversation,
    FolderConversations,
    agent_of_run,
    messages_to_continue,
    new_conversation,
)
from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.named_tools import names_coding_tools
from maverick.cli.agent_lookup import explain_stand_in, look_up, named_file, split_source, who_answers
from maverick.cli.run.inputs import PROMPT, gather_inputs
from maverick.cli.run_options import RunOptions
from maverick.cli.run_printer import RunPrinter
from maverick.cli.runs.console import Console
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.cli.terminal_run import drive_run
from maverick.config import DEFAULT, MaverickConfig
from maverick.exceptions import (
    AgentNotFoundError,
    InvalidInputError,
    MaverickError,
    RunNotFoundError,
)
from maverick.journal import Journal
from maverick.loop import AgentDefinition
from maverick.model import Message
from maverick.providers.resolve import OFFLINE, ResolvedModel, resolve
from maverick.runtime.arguments import checked_run_id
from maverick.runtime.replay import load_beginning


def run_agent(options: argparse.Namespace) -> int:
    """Run an agent to its end, on the screen; the exit code says why the run ended."""
    config = load_settings(asks=True, as_json=options.as_json, for_agents=True)
    screen = Screen.of_process()
    if options.prompt is None and _is_prompt(options.agent or ""):
        options.agent, options.prompt = None, options.agent
    before = FolderConversations().last() if options.continues else None
    if before is not None and options.agent is None:
        options.agent = before.agent_in(Path.cwd())
    if options.on is not None:
        from maverick.cli.fleet.run import run_in_fleet  # here, since Temporal's client is an extra

        return run_in_fleet(options, config)
    for name in ("user", "priority"):
        if getattr(options, name) is not None:
            problem = f"--{name} is for runs in a fleet. Add --on fleet, or leave it out."
            raise InvalidInputError(problem, field=name)
    found = _look_up(options, config)
    if found.missing_tools:
        screen.remark(f"(these tools do not exist here: {', '.join(found.missing_tools)})")
    own = found.runnable(config)
    if own is None:
        from maverick.cli.run.class_agent import run_class_agent  # here, since most agents are definitions

        return run_class_agent(found, options, config, screen)
    piped = getattr(found.agent, "piped", PROMPT)
    inputs = gather_inputs(
        found.inputs, options.inputs, _said(options.prompt, own), screen, piped, options.attach
    )
    return asyncio.run(_run(found, own, inputs, options, config, screen, before))


async def _run(
    found: DiscoveredAgent,
    own: AgentDefinition[Any],
    inputs: dict[str, Any],
    options: argparse.Namespace,
    config: MaverickConfig,
    screen: Screen,
    before: Conversation | None,
) -> int:
    changes = RunOptions.from_options(vars(options))
    async with _journal(options, config) as journal:
        kept_model = None
        if before is not None and changes.model is None and own.model_config.model is None:
            kept_model = await _model_of(journal, before, config)
        answering = who_answers(found, own, changes.model or kept_model, config.agent)
        for remark in _remarks_on(found, answering, kept_model, changes, config):
            screen.remark(f"({remark})")
        definition = changes.applied_to(own, None if answering is None else answering.model)
        messages = () if before is None else await _said_in(journal, before.runs[-1])
        run_id = checked_run_id(options.run_id)
        conversation = new_conversation(options.agent)
        if before is not None:
            conversation = structs.replace(conversation, id=before.id, runs=before.runs)
        if options.kept:
            FolderConversations().remember(conversation.continued_by(run_id))
        printer = RunPrinter(
            Console(journal, screen, options.as_json, options.journal),
            changes,
            None if _is_found_again(run_id) else named_file(options.agent),
            definition.run_config,
            # Into a pipe goes the answer alone, and one of a type is whole or none.
            streams=sys.stdout.isatty() and definition.output_config is None,
            kept=options.kept,
            plain=definition.model_config.model == OFFLINE,
        )
        return await drive_run(
            printer,
            structs.replace(found, agent=definition),
            config,
            lambda executor, stop, listen: executor.execute(
                definition,
                inputs=inputs,
                signal=stop,
                on_activity=listen,
                run_id=run_id,
                messages=messages,
                trace_id=conversation.id,
            ),
        )


def _remarks_on(
    found: DiscoveredAgent,
    answering: ResolvedModel | None,
    kept_model: str | None,
    changes: RunOptions,
    config: MaverickConfig,
) -> Iterator[str]:
    """What there is to say about the model that answers, and about settings that it is asked without."""
    if answering is None:
        return
    if kept_model is not None:
        yield f"the conversation continues with its model, {kept_model}; -m chooses another"
    if stand_in := explain_stand_in(answering):
        yield stand_in
    if found.definition is None and answering.provider == "claude-code":
        from maverick.agents.class_definition import explain_unsupported  # here, since few agents are classes

        if unsupported := explain_unsupported(config.agent):
            yield unsupported.rstrip(".")
    # The default model of classes is replaced by itself on the day it is retired.
    is_default = (
        found.definition is None
        and changes.model is None
        and not getattr(found.agent, "model", None)
        and config.agent.source_of("model") == DEFAULT
    )
    if not is_default and (retirement := answering.retirement()):
        yield retirement


async def _model_of(journal: Journal, conversation: Conversation, config: MaverickConfig) -> str | None:
    """The model of a conversation, which it keeps, if it is another than the one that would answer by default."""
    try:
        fingerprint = (await load_beginning(journal, conversation.runs[-1])).fingerprint
    except RunNotFoundError:  # which is said when its messages are looked for
        return None
    model = None if fingerprint is None else fingerprint.model or None
    with suppress(MaverickError):  # what is wrong with the default does not matter here
        if resolve(config.agent).model == model:
            return None
    return model


async def _said_in(journal: Journal, run_id: str) -> tuple[Message, ...]:
    messages = await messages_to_continue(journal, run_id)
    if messages is None:
        problem = f"The last run in this folder has not ended. Resume it with: maverick runs resume {run_id}"
        raise InvalidInputError(problem, field="continue")
    return messages


def _said(prompt: str | None, own: AgentDefinition[Any]) -> str | None:
    """The prompt; a slash command is replaced by the prompt of an MCP server, or the skill, that it names."""
    if prompt is None or not prompt.startswith("/"):
        return prompt
    if prompt.startswith("/mcp__"):
        from maverick.tools.mcp import expand_prompt  # here, since it brings MCP with it

        return asyncio.run(expand_prompt(prompt))
    if not names_coding_tools(own):
        return prompt
    from maverick.agents.skills import load_skills  # here, since few prompts are commands

    return load_skills(Path.cwd()).expanded(prompt)


def _journal(options: argparse.Namespace, config: MaverickConfig) -> Journal:
    if not options.kept:
        from maverick.journal import MemoryJournal  # here, since it is rarely needed

        return MemoryJournal()
    from maverick.journal.opening import open_journal

    return open_journal(options.journal or config.journal.get_secret_value())


def _look_up(options: argparse.Namespace, config: MaverickConfig) -> DiscoveredAgent:
    try:
        return look_up(options.agent, config)
    except AgentNotFoundError as error:
        if options.prompt is not None:
            raise
        raise AgentNotFoundError(
            f"{error} If it is a prompt: maverick run {'-c ' * options.continues}-p {shlex.quote(options.agent)}",
            agent_name=error.agent_name,
            available_agents=error.available_agents,
        ) from error


def _is_prompt(words: str) -> bool:
    """Whether what stands in the place of an agent is a prompt: no name has a space in it, and few files have.

    A file with a space in its path has to be named as one (``./my agent.py``): otherwise a stranger's folder could have a
    file with the name of a likely prompt, which would run.
    """
    file = Path(split_source(words)[0])
    is_named = file.is_absolute() or words.startswith(("./", "../"))
    return len(words.split()) > 1 and not (is_named and file.exists())


def _is_found_again(run_id: str) -> bool:
    """Whether the file of a run's agent does not have to be named when the run is resumed."""
    try:
        return agent_of_run(run_id) is not None
    except InvalidInputError:  # its folder is not trusted
        return False
