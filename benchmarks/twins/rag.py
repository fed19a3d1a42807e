"""Retrieval with a database handle: dependencies are given to the run, and tools find them in their context, typed."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from dataclasses import dataclass

from pydantic_ai import Agent, RunContext


@dataclass
class Library:
    database: sqlite3.Connection
    tenant: str


librarian = Agent(
    "anthropic:claude-sonnet-5-5",
    instructions="Answer from the handbook only, and name the page. If it is not there, say so.",
    deps_type=Library,
)


@librarian.tool
async def search(context: RunContext[Library], query: str) -> list[str]:
    """Find passages of the handbook that have these words."""
    rows = context.deps.database.execute(
        "SELECT page || ': ' || text FROM pages WHERE pages MATCH ? AND tenant = ? ORDER BY rank LIMIT 5",
        (query, context.deps.tenant),
    )
    return [str(passage) for (passage,) in rows]


async def main(question: str, library: Library) -> str:
    result = await librarian.run(question, deps=library)
    return result.output


if __name__ == "__main__":
    print(asyncio.run(main(sys.argv[1], Library(sqlite3.connect("handbook.db"), "acme"))))
