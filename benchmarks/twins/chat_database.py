"""A chat whose conversations are in a table of your own."""

from __future__ import annotations

import asyncio
import sqlite3
import sys

from pydantic_ai import Agent, ModelMessagesTypeAdapter

assistant = Agent("anthropic:claude-sonnet-5-5", instructions="You are a friendly assistant.")


class Chat:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("CREATE TABLE IF NOT EXISTS turns (user TEXT, chat TEXT, messages BLOB)")

    async def answer(self, user: str, chat: str, text: str) -> str:
        rows = self._database.execute(
            "SELECT messages FROM turns WHERE user = ? AND chat = ? ORDER BY rowid", (user, chat)
        )
        history = [message for (kept,) in rows for message in ModelMessagesTypeAdapter.validate_json(kept)]
        result = await assistant.run(text, message_history=history)
        with self._database:
            self._database.execute(
                "INSERT INTO turns VALUES (?, ?, ?)", (user, chat, result.new_messages_json())
            )
        return result.output


if __name__ == "__main__":
    print(asyncio.run(Chat(sqlite3.connect("chat.db")).answer("ana", "home", sys.argv[1])))
