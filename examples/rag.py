"""Retrieval with a database handle: dependencies are given to the run, and tools find them in their context, typed."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from dataclasses import dataclass

from maverick import AgentExecutor, LLMClient, ToolContext, define_agent, tool


@dataclass
class Library:
    """What a run may read: the database, and whose part of it."""

    database: sqlite3.Connection
    tenant: str


@tool(effect="pure")
async def search(query: str, context: ToolContext[Library]) -> list[str]:
    """Find passages of the handbook that have these words."""
    rows = context.deps.database.execute(
        "SELECT page || ': ' || text FROM pages WHERE pages MATCH ? AND tenant = ? ORDER BY rank LIMIT 5",
        (query, context.deps.tenant),
    )
    return [str(passage) for (passage,) in rows]


librarian = define_agent(
    "librarian",
    "Answer from the handbook only, and name the page. If it is not there, say so.",
    model="claude:claude-sonnet-5-5",
    tools=[search],
)


async def main(question: str, library: Library, client: LLMClient | None = None) -> str:
    """Answer one question."""
    async with AgentExecutor(client) as executor:
        result = await executor.execute(librarian, inputs={"prompt": question}, deps=library)
    return result.unwrap()


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], Library(sqlite3.connect("handbook.db"), "acme"))))
