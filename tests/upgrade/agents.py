"""The agents of the runs in ``tests/data``. A change here is a changed agent: those runs could not be resumed any more."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field

from maverick import (
    AgentDefinition,
    ModelConfig,
    OutputConfig,
    PromptConfig,
    RunConfig,
    ToolConfig,
    ToolContext,
    tool,
)
from maverick.model import Request, Response, Role, Text, Thought, ToolCall
from maverick.testing import Turn
from maverick.tools import Workspace, coding_tools

Says: TypeAlias = Turn | ToolCall
"""What the model says in a turn."""

PASSWORD = "correct horse battery"
"""Of every user of the chat."""

acted: list[str] = []
"""What the tools have done in this process."""


class Size(StrEnum):
    """How much of something."""

    SMALL = "small"
    LARGE = "large"


class Address(BaseModel):
    """Where something goes."""

    street: str
    number: int | None = None


class Report(BaseModel):
    """What the reporter answers with."""

    summary: str = Field(description="One sentence.")
    cities: list[str]


@tool(effect="pure")
async def look(what: str) -> str:
    """Look at something."""
    acted.append(f"look {what}")
    return f"a {what}"


@tool(effect="keyed")
async def order(
    item: str,
    count: int,
    price: float,
    to: Address,
    ctx: ToolContext,
    size: Size = Size.SMALL,
    wrapping: Literal["paper", "box"] = "paper",
    notes: list[str] | None = None,
    labels: dict[str, int] | None = None,
    express: bool = False,
) -> str:
    """Order something.

    Args:
        item: What to order.
        count: How many.
        price: The price of one.
        to: Where it goes.
        ctx: Whose order it is.
        size: How large.
        wrapping: What it is wrapped in.
        notes: What to tell the shop.
        labels: How many labels of each kind.
        express: Whether it is urgent.
    """
    acted.append(f"order {item} {ctx.idempotency_key}")
    return f"ordered {count} {item}"


@tool
async def send(to: str) -> str:
    """Send a letter."""
    acted.append(f"send {to}")
    return f"sent to {to}"


@tool(approval=True)
async def shred(what: str) -> str:
    """Shred something."""
    acted.append(f"shred {what}")
    return f"shredded {what}"


@tool(effect="transactional")
async def count_up(name: str, ctx: ToolContext) -> str:
    """Count something."""
    await ctx.session.execute("CREATE TABLE IF NOT EXISTS counts (name TEXT)")
    await ctx.session.execute("INSERT INTO counts VALUES (?)", name)
    rows = await ctx.session.fetch("SELECT count(*) AS n FROM counts WHERE name = ?", name)
    return f"{name}: {rows[0]['n']}"


clerk = AgentDefinition(
    name="clerk",
    description="Does office work.",
    prompt_config=PromptConfig("You work for ${boss}.", ["Do this: ${prompt}"]),
    run_config=RunConfig(max_turns=20, retry_delay=0),
    tool_config=ToolConfig(tools=[look, order, send, shred, count_up]),
)

reporter = AgentDefinition(
    name="reporter",
    description="Writes a report.",
    run_config=RunConfig(retry_delay=0),
    tool_config=ToolConfig(tools=[look]),
    output_config=OutputConfig(output_name="report", schema=Report),
)

manager = AgentDefinition(
    name="manager",
    description="Has others do the work.",
    run_config=RunConfig(retry_delay=0),
    tool_config=ToolConfig(tools=[reporter.as_tool(), send]),
)


@tool(effect="pure")
async def read_page(number: int) -> str:
    """Read a page of a long book."""
    acted.append(f"read {number}")
    return f"page {number}: " + "so it goes, " * 120


reader = AgentDefinition(
    name="reader",
    description="Reads a book that is longer than its context window.",
    model_config=ModelConfig(model="scripted:", context_window=2_000),
    run_config=RunConfig(max_turns=20, retry_delay=0),
    tool_config=ToolConfig(tools=[read_page]),
)


def reading(pages: int, *, thinks: bool) -> Callable[[Request], Response]:
    """A model that reads page after page, and condenses when it is asked to; any process can give the next answer."""

    def answer(request: Request) -> Response:
        if not request.tools:
            return Response(f"Read so far: {_newest_page(request)}.")
        number = _newest_page(request) + 1
        thought = [Thought(f"Now page {number}.", signature=f"signed-{number}")] if thinks else []
        if number > pages:
            return Response([*thought, Text("The end.")])
        return Response([*thought, ToolCall(f"read-{number}", "read_page", {"number": number})])

    return answer


def _newest_page(request: Request) -> int:
    found = [int(n) for m in request.messages for n in re.findall(r"(?:page|far:) (\d+)", m.content)]
    return max(found, default=0)


def coder(folder: Path) -> AgentDefinition[str]:
    """An agent with the tools that Maverick brings along."""
    return AgentDefinition(
        name="coder",
        description="Writes code.",
        tool_config=ToolConfig(tools=coding_tools(Workspace(folder), sandbox=False, web=False)),
    )


def by_turn(*turns: Says) -> Callable[[Request], Says]:
    """Answers that depend on how far the conversation is, so that any process can give the next one."""
    return lambda request: turns[sum(message.role is Role.ASSISTANT for message in request.messages)]
