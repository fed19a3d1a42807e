"""Human in the loop across processes: one asks for a refund today, another person approves it tomorrow."""

from __future__ import annotations

import asyncio
import sqlite3
import sys

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter, RunContext

MANAGERS = {"bea", "carl"}
clerk = Agent(
    "anthropic:claude-sonnet-5-5",
    instructions="You handle complaints.",
    output_type=[str, DeferredToolRequests],
)


@clerk.tool(requires_approval=True)
async def refund(context: RunContext, order: int, euros: float) -> str:
    """Pay the money for an order back."""
    return f"Refunded {euros:.2f} € for order {order} under {context.tool_call_id}."


async def main(command: str, *words: str) -> None:
    database = sqlite3.connect("refunds.db")
    database.execute(
        "CREATE TABLE IF NOT EXISTS waiting (id TEXT PRIMARY KEY, user TEXT, tool TEXT, arguments TEXT, messages BLOB)"
    )
    match command, words:
        case "ask", [request]:
            result = await clerk.run(request)
            if isinstance(result.output, DeferredToolRequests):
                with database:
                    for call in result.output.approvals:
                        row = call.tool_call_id, "ana", call.tool_name, call.args_as_json_str()
                        database.execute(
                            "INSERT INTO waiting VALUES (?, ?, ?, ?, ?)", (*row, result.all_messages_json())
                        )
                print("awaiting_approval")
            else:
                print("complete", result.output)
        case "list", []:
            for row in database.execute("SELECT id, user, tool, arguments FROM waiting"):
                print(*row)
        case "approve", [approval_id, manager]:
            if manager not in MANAGERS:
                raise PermissionError(f"{manager} may not approve refunds.")
            with database:
                row = database.execute(
                    "DELETE FROM waiting WHERE id = ? RETURNING messages", (approval_id,)
                ).fetchone()
            if row is None:
                raise LookupError(f"There is no request {approval_id}.")
            result = await clerk.run(
                message_history=ModelMessagesTypeAdapter.validate_json(row[0]),
                deferred_tool_results=DeferredToolResults(approvals={approval_id: True}),
            )
            print(result.output)
        case _:
            print("ask REQUEST | list | approve ID MANAGER")
    database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
