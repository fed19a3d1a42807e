"""The agents of the failover campaign: each run has a plan of keyed, transactional and irreversible calls.

A run's task is ``NUMBER-TURNS``. What its tools do is in a ledger outside the fleet, a file for each run, in the folder
that ``CHAOS_LEDGER`` names; ``CHAOS_PACE`` is how many seconds the model, and a tool before and after it acts, takes.
``CHAOS_VERSION`` is in the clerk's prompt, and nowhere else.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaos.bench import BENCH, book, charge, launch, send
from chaos.ledger import Deed, Ledger
from chaos.scenarios import agent
from chaos.script import Plan, delegate, do, steps, watched
from chaos.stores import PostgresStore
from chaos.trap import Trap
from maverick import AgentDefinition, AgentExecutor, PromptConfig
from maverick.model import Request
from maverick.testing import ScriptedClient, Turn, turn

_VERBS = ("charge", "book", "send")
_HELPED = 3
"""The most turns of a helper."""


class RunLedgers(Ledger):
    """A ledger for each run, and one for the requests to the model."""

    def add(self, deed: Deed, *, once: bool = False) -> None:
        self.of(deed.key.partition("/")[0]).add(deed, once=once)

    def of(self, run_id: str) -> Ledger:
        """The ledger of a run."""
        return Ledger(self._path / (run_id or "requests"))


def plan(task: str) -> Plan:
    """The calls of a run, turn by turn: each kind in turn, and three at once in every third turn."""
    number, turns = (int(part) for part in task.split("-")[:2])
    return [
        [
            do(_VERBS[(number + turn + place) % len(_VERBS)], f"step-{turn}-{place}-of-{task}")
            for place in range(3 if turn % 3 == 0 else 1)
        ]
        for turn in range(1, turns + 1)
    ]


def _chief(task: str) -> Plan:
    first, *rest = plan(task)
    return [[delegate(f"{task}-step-1-x"), *first], *rest]


def _petitioner(task: str) -> Plan:
    first, *rest = plan(task)
    return [first, [do("launch", f"step-2-l-of-{task}")], *rest[1:]]


_TOOLS = (charge, book, send)
_helper = agent("helper", *_TOOLS, task="${task}", max_turns=200)
clerk: AgentDefinition[Any] = replace(
    _helper,
    name="clerk",
    prompt_config=PromptConfig(f"Version {os.environ.get('CHAOS_VERSION', '1')}.", ["clerk ${task}"]),
)
"""Works alone."""
chief: AgentDefinition[Any] = agent("chief", *_TOOLS, _helper.as_tool(), task="${task}", max_turns=200)
"""Has a subagent at work in its first turn, beside a call of its own."""
petitioner: AgentDefinition[Any] = agent("petitioner", *_TOOLS, launch, task="${task}", max_turns=200)
"""Asks a person in its second turn."""

_script = watched(
    steps(
        {
            "clerk": plan,
            "chief": _chief,
            "helper": lambda task: plan(task)[:_HELPED],
            "petitioner": _petitioner,
        }
    )
)


def executor(definition: AgentDefinition[Any], user_id: str | None) -> AgentExecutor:
    """What runs the agents here."""
    if not hasattr(BENCH, "ledger"):
        ledger = Path(os.environ["CHAOS_LEDGER"])
        BENCH.set_up(ledger, Trap(Path(os.devnull), None), PostgresStore.booking)
        BENCH.ledger = RunLedgers(ledger)
        BENCH.pace = float(os.environ["CHAOS_PACE"])
    return AgentExecutor(ScriptedClient(_answer))


async def _answer(request: Request) -> Turn:
    """What the script says, after some words that take their time when they are streamed."""
    await asyncio.sleep(BENCH.pace)
    planned = _script(request)
    assert isinstance(planned, Turn)
    said = f"After {len(request.messages)} messages I go on with what comes next. "
    return turn(said, *planned.response.parts, usage=planned.response.usage, pace=BENCH.pace / 20)
