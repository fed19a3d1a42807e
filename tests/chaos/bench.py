"""What the tools of a child process act on, and the tools: one for each effect a tool can declare."""

from __future__ import annotations

import asyncio
from pathlib import Path

from chaos.ledger import Deed, Ledger
from chaos.trap import Trap
from maverick import AbortSignal, ToolContext, tool
from maverick.exceptions import ToolError
from maverick.model import Outcome


class Bench:
    """The world of one child process; each sets up its own."""

    ledger: Ledger
    trap: Trap
    booking: str
    """The statement a transactional tool inserts its row with."""
    signal: AbortSignal
    pace = 0.0
    """Seconds that a tool takes before and after it acts."""

    def set_up(self, ledger: Path, trap: Trap, booking: str) -> None:
        self.ledger = Ledger(ledger)
        self.trap = trap
        self.booking = booking
        self.signal = AbortSignal()

    async def act(
        self, verb: str, item: str, ctx: ToolContext, kind: str = "effect", *, once: bool = False
    ) -> None:
        """Change the world, after and before giving way to the tools beside this one.

        Args:
            verb: The tool's name.
            item: What it is done to.
            ctx: The call.
            kind: What sort of deed it is.
            once: Whether nothing is done if it was done under the same key.
        """
        await asyncio.sleep(self.pace)
        self.trap("Effect", True)
        self.ledger.add(Deed(kind, verb, item, ctx.idempotency_key), once=once)
        self.trap("Effect", False)
        await asyncio.sleep(self.pace)


BENCH = Bench()


@tool(effect="pure")
async def look(item: str, ctx: ToolContext) -> str:
    """Look at an item."""
    await BENCH.act("look", item, ctx, kind="look")
    return f"looked at {item}"


@tool(effect="pure")
async def recite(item: str, ctx: ToolContext) -> str:
    """Say much about an item."""
    await BENCH.act("recite", item, ctx, kind="look")
    return f"{item} " * 80


@tool(effect="keyed")
async def charge(item: str, ctx: ToolContext) -> str:
    """Charge for an item, once for each key."""
    await BENCH.act("charge", item, ctx, once=True)
    return f"charged {item}"


@tool(effect="transactional")
async def book(item: str, ctx: ToolContext) -> str:
    """Book an item in the journal's own database."""
    BENCH.trap("Effect", True)
    await ctx.session.execute(BENCH.booking, ctx.run_id, item, ctx.idempotency_key)
    BENCH.trap("Effect", False)
    return f"booked {item}"


@tool(effect="irreversible")
async def send(item: str, ctx: ToolContext) -> str:
    """Send an item, for good."""
    await BENCH.act("send", item, ctx)
    return f"sent {item}"


@tool(effect="irreversible")
async def post(item: str, ctx: ToolContext) -> str:
    """Send an item, for good, after the tools beside this one have ended."""
    await asyncio.sleep(0.01)
    await BENCH.act("post", item, ctx)
    return f"posted {item}"


@tool(effect="irreversible")
async def drop(item: str, ctx: ToolContext) -> str:
    """Drop an item, and fail after it."""
    await BENCH.act("drop", item, ctx)
    raise ToolError(f"{item} broke")


@tool(effect="irreversible")
async def ship(item: str, ctx: ToolContext) -> str:
    """Ship an item with somebody who can be asked about it."""
    await BENCH.act("ship", item, ctx)
    return f"shipped {item}"


@ship.reconcile
async def _was_shipped(args: dict[str, str], ctx: ToolContext) -> Outcome:
    happened = BENCH.ledger.has("effect", ctx.idempotency_key)
    return Outcome.done(f"shipped {args['item']}") if happened else Outcome.not_done()


@tool(effect="irreversible", approval=True)
async def launch(item: str, ctx: ToolContext) -> str:
    """Launch an item, if a person agrees."""
    await BENCH.act("launch", item, ctx)
    return f"launched {item}"


@tool(effect="irreversible")
async def halt(item: str, ctx: ToolContext) -> str:
    """Stop the run that is running this."""
    await BENCH.act("halt", item, ctx)
    BENCH.signal.abort("it was told to")
    await asyncio.sleep(60)
    raise AssertionError("the run should have been stopped")


@tool(effect="pure")
async def pass_on(item: str) -> str:
    """Have the run that is running this left for another process."""
    BENCH.signal.hand_over()
    return f"passed on {item}"


UNKNOWABLE = frozenset({"send", "post", "drop", "launch", "halt"})
"""The irreversible tools that nobody can be asked about."""
EXACTLY_ONCE = frozenset({"charge", "book", "ship"})
"""The tools whose effect is neither lost nor doubled, whatever happens."""
