"""Fifty durable jobs on DBOS: kill the process at any moment, start it again, and each report is filed once.

A step that was running runs again, so the table has a key.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability

PATH = sys.argv[1] if sys.argv[1:] else "jobs.db"
DBOS(config={"name": "reports", "system_database_url": f"sqlite:///{PATH}"})
reporter = Agent(
    "anthropic:claude-sonnet-5-5",
    name="reporter",
    instructions="Write a report on the customer and file it.",
    capabilities=[DBOSDurability()],
)


@reporter.tool_plain
@DBOS.step()
async def file_report(customer: int, text: str) -> str:
    """File the report on a customer."""
    with sqlite3.connect(f"{PATH}.reports", timeout=30) as database:
        database.execute("CREATE TABLE IF NOT EXISTS reports (customer INTEGER PRIMARY KEY, text TEXT)")
        database.execute("INSERT INTO reports VALUES (?, ?) ON CONFLICT DO NOTHING", (customer, text))
    return "filed"


@DBOS.workflow()
async def report(customer: int) -> str:
    return (await reporter.run(f"Customer {customer}")).output


async def main() -> None:
    DBOS.launch()
    handles = []
    for number in range(50):
        with SetWorkflowID(f"report-{number}"):
            handles.append(await DBOS.start_workflow_async(report, number))
    results = [await handle.get_result() for handle in handles]
    print(f"{len(results)} of {len(handles)} reports are filed.")
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main())
