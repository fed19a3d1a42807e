"""Human in the loop across processes: one asks for a refund today, another person approves it tomorrow.

::

    python examples/approval.py ask "Refund order 7, it arrived broken."
    python examples/approval.py list
    python examples/approval.py approve ID bea
"""

from __future__ import annotations

import asyncio
import sys

from maverick import AgentExecutor, LLMClient, SqliteJournal, ToolContext, define_agent, tool

MANAGERS = {"bea", "carl"}


@tool(approval=True)
async def refund(order: int, euros: float, context: ToolContext) -> str:
    """Pay the money for an order back."""
    return f"Refunded {euros:.2f} € for order {order} under {context.idempotency_key}."


clerk = define_agent("clerk", "You handle complaints.", model="claude:claude-sonnet-5-5", tools=[refund])


async def main(command: str, *words: str, client: LLMClient | None = None) -> None:
    """Ask, list what waits, or decide."""
    journal = SqliteJournal("refunds.db")
    executor = AgentExecutor(client, journal=journal, may_approve=lambda _, by: by in MANAGERS)
    async with journal, executor:
        match command, words:
            case "ask", [request]:
                result = await executor.execute(clerk, inputs={"prompt": request}, user_id="ana")
                print(result.terminate_reason, result.output)
            case "list", []:
                for waiting in await journal.list_approvals():
                    print(waiting.approval_id, waiting.user_id, waiting.tool_name, waiting.arguments)
            case "approve", [approval_id, manager]:
                decided = await executor.approve(approval_id, by=manager, resume=True, definition=clerk)
                print(decided.output)
            case _:
                print("ask REQUEST | list | approve ID MANAGER")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
