"""A chat whose conversations are in a table of your own."""

from __future__ import annotations

import asyncio
import sqlite3
import sys

from maverick import AgentExecutor, LLMClient, define_agent, dump_messages, load_messages

assistant = define_agent("assistant", "You are a friendly assistant.", model="claude:claude-sonnet-5-5")


class Chat:
    """Answers messages, and keeps what was said."""

    def __init__(self, database: sqlite3.Connection, client: LLMClient | None = None) -> None:
        self._executor = AgentExecutor(client)
        self._database = database
        database.execute("CREATE TABLE IF NOT EXISTS turns (user TEXT, chat TEXT, messages BLOB)")

    async def answer(self, user: str, chat: str, text: str) -> str:
        """Answer a message of a user."""
        rows = self._database.execute(
            "SELECT messages FROM turns WHERE user = ? AND chat = ? ORDER BY rowid", (user, chat)
        )
        history = [message for (kept,) in rows for message in load_messages(kept)]
        result = await self._executor.execute(assistant, inputs={"prompt": text}, messages=history)
        answer = result.unwrap()
        with self._database:
            self._database.execute(
                "INSERT INTO turns VALUES (?, ?, ?)", (user, chat, dump_messages(result.new_messages))
            )
        return answer


if __name__ == "__main__":
    print(asyncio.run(Chat(sqlite3.connect("chat.db")).answer("ana", "home", sys.argv[1])))
