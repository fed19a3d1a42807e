"""Fifty durable jobs: kill the process at any moment, start it again, and each report is filed exactly once."""

from __future__ import annotations

import asyncio

from maverick import AgentExecutor, LLMClient, SqliteJournal, ToolContext, define_agent, tool


@tool(effect="transactional")
async def file_report(customer: int, text: str, context: ToolContext) -> str:
    """File the report on a customer."""
    await context.session.execute("CREATE TABLE IF NOT EXISTS reports (customer INTEGER, text TEXT)")
    await context.session.execute("INSERT INTO reports VALUES (?, ?)", customer, text)
    return "filed"


reporter = define_agent(
    "reporter",
    "Write a report on the customer and file it.",
    model="claude:claude-sonnet-5-5",
    messages=["Customer ${customer}"],
    tools=[file_report],
)


async def main(path: str = "jobs.db", client: LLMClient | None = None) -> None:
    """Start the jobs, or go on with them."""
    async with SqliteJournal(path) as journal, AgentExecutor(client, journal=journal) as executor:
        jobs = [
            executor.execute(
                reporter, inputs={"customer": number}, run_id=f"report-{number}", if_exists="resume"
            )
            for number in range(50)
        ]
        results = await asyncio.gather(*jobs)
    print(f"{sum(result.success for result in results)} of {len(results)} reports are filed.")


if __name__ == "__main__":
    asyncio.run(main())
