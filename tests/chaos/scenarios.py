"""The runs that are killed: each shows another way in which a run can stand when its process dies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chaos.bench import book, charge, drop, halt, launch, look, pass_on, post, recite, send, ship
from chaos.script import Plan, Script, delegate, do, failing_first, steps
from maverick import (
    AgentDefinition,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunConfig,
    TerminateReason,
    ToolConfig,
)
from maverick.model import Request, Tool
from maverick.testing import reply


@dataclass(frozen=True)
class Scenario:
    """One agent and its model."""

    agent: AgentDefinition[Any]
    script: Script
    end: TerminateReason = TerminateReason.COMPLETE
    """How the run ends; until then it is resumed."""
    decisions: Mapping[str, bool] = field(default_factory=dict)
    """What a person decides on each item that needs approval."""
    fork_at: int | None = None
    """For a fork: the turn of the base run at which it begins."""
    fork_edit: str = ""
    words: str = ""
    """What the person says to the run who decides."""
    condenses: bool = False
    """Whether the conversation is condensed, so that not all the model was told is in it at the end."""


def agent(name: str, *tools: Tool, task: str = "", **settings: Any) -> AgentDefinition[Any]:
    """An agent whose first message is its name, so that the script knows it; settings are of its ``RunConfig``."""
    return AgentDefinition(
        name=name,
        description=f"The {name} of a scenario.",
        prompt_config=PromptConfig(initial_messages=[f"{name} {task}".rstrip()]),
        model_config=settings.pop("model", ModelConfig(model="scripted:")),
        output_config=settings.pop("output", None),
        run_config=RunConfig(**{"retry_delay": 0.02, "max_retries": 50} | settings),
        tool_config=ToolConfig(tools=tools),
    )


def alone(tools: list[Tool], plan: Plan, **options: Any) -> Scenario:
    """An agent without others, that follows a plan."""
    fields = {
        name: options.pop(name) for name in ("end", "decisions", "condenses", "words") if name in options
    }
    return Scenario(agent("worker", *tools, **options), steps({"worker": lambda _: plan}), **fields)


def family(boss: Plan, helper: Callable[[str], Plan], tools: list[Tool], **options: Any) -> Scenario:
    """An agent that calls another, both with the same tools."""
    limits = options.pop("helper_limits", {})
    inner = agent("helper", *tools, task="${task}", **limits)
    outer = agent("boss", *tools, inner.as_tool())
    return Scenario(outer, steps({"boss": lambda _: boss, "helper": helper}), **options)


def _repairing(request: Request) -> Any:
    return reply('{"value": 7}' if len(request.messages) > 1 else "seven, I would say")


def _forked(request: Request) -> Any:
    """The base run has one step; the fork is asked for a second one."""
    plan = [[do("charge", "step-1-a")], [do("send", "step-2-a"), do("book", "step-2-b")]]
    asked_for_more = any(message.content == "One more." for message in request.messages)
    return steps({"worker": lambda _: plan if asked_for_more else plan[:1]})(request)


SCENARIOS: Mapping[str, Scenario] = {
    "no-tools": alone([], []),
    "pure": alone([look], [[do("look", "step-1-a")], [do("look", "step-2-a")]]),
    "keyed": alone([charge], [[do("charge", "step-1-a")], [do("charge", "step-2-a")]]),
    "transactional": alone([book], [[do("book", "step-1-a")], [do("book", "step-2-a")]]),
    "irreversible": alone([send], [[do("send", "step-1-a")], [do("send", "step-2-a")]]),
    "reconciled": alone([ship], [[do("ship", "step-1-a")], [do("ship", "step-2-a")]]),
    "failing-tool": alone([drop], [[do("drop", "step-1-a")]]),
    "parallel": alone(
        [look, charge, book, send, ship, drop],
        [
            [
                do("send", "step-1-a"),
                do("look", "step-1-b"),
                do("charge", "step-1-c"),
                do("book", "step-1-d"),
                do("ship", "step-1-e"),
                do("send", "step-1-f"),
                do("book", "step-1-g"),
            ],
            [do("drop", "step-2-a"), do("charge", "step-2-b")],
        ],
    ),
    "nested": family(
        [
            [delegate("step-1-x"), do("send", "step-1-a"), delegate("step-1-y")],
            [do("book", "step-2-a")],
        ],
        lambda task: [
            [do("send", f"step-1-of-{task}"), do("book", f"step-1-for-{task}")],
            [do("charge", f"step-2-of-{task}")],
        ],
        [send, book, charge],
    ),
    "nested-budget": family(
        [[delegate("step-1-x")]],
        lambda task: [[do("charge", f"step-{n}-of-{task}")] for n in range(1, 9)],
        [charge],
        helper_limits={"max_tool_calls": 2},
    ),
    "approval": alone(
        [launch, charge],
        [[do("launch", "step-1-a"), do("launch", "step-1-b"), do("charge", "step-1-c")]],
        decisions={"step-1-a": True, "step-1-b": False},
        words="Thank you.",
    ),
    "approval-again": alone(
        [launch],
        [[do("launch", "step-1-a")], [do("launch", "step-2-a")]],
        decisions={"step-1-a": True, "step-2-a": False},
    ),
    "nested-approval": family(
        [[do("send", "step-1-a"), do("post", "step-1-b"), delegate("step-1-x")]],
        lambda task: [[do("launch", f"step-1-of-{task}")]],
        [send, post, launch],
        decisions={"step-1-of-step-1-x": True},
    ),
    "retry": Scenario(
        agent("worker", send),
        failing_first(steps({"worker": lambda _: [[do("send", "step-1-a")]]}), failures=2),
    ),
    "compaction": alone(
        [recite, charge, send],
        [
            [do("recite", "step-1-a"), do("charge", "step-1-b")],
            [do("recite", "step-2-a"), do("charge", "step-2-b")],
            [do("recite", "step-3-a"), do("send", "step-3-b")],
            [do("recite", "step-4-a")],
        ],
        model=ModelConfig(model="scripted:", context_window=1200),
        condenses=True,
    ),
    "repair": Scenario(agent("worker", output=OutputConfig("answer", dict[str, int])), _repairing),
    "abort": alone(
        [halt, charge],
        [
            [do("halt", "step-1-a"), do("charge", "step-1-b")],
            [do("charge", "step-2-a")],
        ],
    ),
    "handover": alone(
        [pass_on, charge],
        [
            [do("pass_on", "step-1-a"), do("charge", "step-1-b")],
            [do("charge", "step-2-a")],
        ],
    ),
    "fork": Scenario(agent("worker", charge, send, book), _forked, fork_at=2, fork_edit="One more."),
    "turn-budget": alone(
        [charge],
        [[do("charge", f"step-{n}-a")] for n in range(1, 9)],
        max_turns=3,
        end=TerminateReason.MAX_TURNS,
    ),
    "tool-budget": alone(
        [charge, send],
        [
            [do("charge", "step-1-a"), do("send", "step-1-b")],
            [do("charge", "step-2-a"), do("send", "step-2-b")],
        ],
        max_tool_calls=3,
        end=TerminateReason.MAX_TOOL_CALLS,
    ),
}
