"""``maverick worker``: drives runs of a fleet until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from functools import partial

from maverick.agents.discovery import DiscoveredAgent
from maverick.agents.running import agent_executor, has_own_executor, offered_agents
from maverick.cli.agent_lookup import explain_stand_in, who_answers
from maverick.cli.fleet.connection import open_fleet
from maverick.cli.screen import Screen
from maverick.cli.settings import load_settings
from maverick.cli.stop_signals import on_stop_signals
from maverick.config import MaverickConfig
from maverick.config.installation import extra_needed
from maverick.exceptions import AgentError, InvalidInputError, MaverickError
from maverick.fleet import Fleet
from maverick.fleet.request import check_agent
from maverick.fleet.status import serve_health
from maverick.fleet.worker import Offer, OwnDrive, Worker


async def run_worker(options: argparse.Namespace) -> None:
    """Drive runs until a signal comes; those in progress are then handed over."""
    config, screen = load_settings(for_agents=True), Screen.of_process()
    found = offered_agents(config, options.agents, screen.remark)
    async with await open_fleet(config, options.temporal, options.db, tls=options.tls) as fleet:
        offers = await _offers(fleet, list(found.values()), config, screen, named=bool(options.agents))
        async with AsyncExitStack() as stack:
            chat = await stack.enter_async_context(_chat(options, config, fleet, offers, screen))
            worker = Worker(
                fleet,
                {**offers, **chat},
                max_runs=options.max_runs,
                grace=options.grace,
                rate_limits=config.rate_limits,
            )
            with on_stop_signals(partial(asyncio.get_running_loop().call_soon_threadsafe, worker.stop)):
                if options.health_port is not None:
                    health = serve_health(worker, options.health_host, options.health_port)
                    await stack.enter_async_context(health)
                ready = f"{worker.name}: {', '.join((*offers, *chat))}; up to {options.max_runs} runs at once"
                await worker.run(partial(screen.remark, ready))


def _chat(
    options: argparse.Namespace,
    config: MaverickConfig,
    fleet: Fleet,
    offers: Mapping[str, Offer],
    screen: Screen,
) -> AbstractAsyncContextManager[Mapping[str, OwnDrive]]:
    """The conversations of ``maverick serve``: with the agents that were named, else with the task chat.

    With ``--chat`` it is both; without what they need being installed, it is neither.
    """
    is_named = options.chat is True
    if options.chat is False:
        return nullcontext({})
    try:
        with extra_needed("server", "`maverick worker --chat`"):
            from maverick.cli.fleet.chat import chat_offer  # here, since it needs the extra server
    except AgentError:
        if is_named:
            raise
        return nullcontext({})
    return chat_offer(
        fleet,
        config,
        options.db or config.journal.get_secret_value(),
        offers if options.agents or is_named else {},
        with_tasks=is_named or not options.agents,
        max_spend=options.max_spend,
        on_remark=None if is_named else screen.remark,
    )


async def _offers(
    fleet: Fleet, agents: Sequence[DiscoveredAgent], config: MaverickConfig, screen: Screen, *, named: bool
) -> dict[str, Offer]:
    """What the worker has of its agents. One that cannot be run is an error if it was named, and else left out."""
    offers: dict[str, Offer] = {}
    remarks: dict[str, None] = {}
    for found in agents:
        executor = partial(agent_executor, found, config, fleet.journal)
        try:
            check_agent(found.name)
            definition = found.runnable(config)
            assert definition is not None  # noqa: S101 - only such agents are offered
            remarks[explain_stand_in(who_answers(found, definition, None, config.agent))] = None
            async with executor(None) as trial:
                trial.fingerprint(definition)
        except MaverickError as error:
            if named:
                raise
            screen.remark(f"(the agent {found.name!r} is left out: {error})")
        else:
            offers[found.name] = Offer(definition, executor, has_own_executor(found))
    for remark in filter(None, remarks):
        screen.remark(f"({remark})")
    if not offers:
        raise InvalidInputError("No agents found. Name files or modules with --agents.", field="agents")
    return offers
