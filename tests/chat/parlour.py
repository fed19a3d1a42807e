"""A place to talk with the chat agent the way a Chat API does: everything it remembers is in the database."""

from __future__ import annotations

from typing import Any

from chat.utterance import TODAY
from maverick.chat import AgentContext, AgentResult, AgentRunner, Database, MCPToolServer
from maverick.chat.conversations import ConversationStore
from maverick.chat.database import owned_session
from maverick.chat.tables import Task
from maverick.chat.tasks import TaskStore
from maverick.tools.threads import run_in_thread


class Parlour:
    def __init__(self, database: Database, **options: Any) -> None:
        self.database = database
        self.server = MCPToolServer(database.session, today=lambda: TODAY)
        self.runner = AgentRunner(database.session, self.server, today=lambda: TODAY, **options)

    async def say(
        self, message: str, user: str = "ana", conversation: str = "talk", **options: Any
    ) -> AgentResult:
        context = await run_in_thread(self.context, user, conversation)
        result = await self.runner.run(context, message, **options)
        await run_in_thread(self._save, user, conversation, message, result)
        return result

    def _save(self, user: str, conversation: str, message: str, result: AgentResult) -> None:
        with owned_session(self.database.session, user, writes=True) as session:
            store = ConversationStore(session, user)
            store.save_user_message(conversation, message)
            store.save_assistant_message(conversation, result.response, tool_calls=result.tool_calls)

    def context(self, user: str = "ana", conversation: str = "talk") -> AgentContext:
        with owned_session(self.database.session, user) as session:
            history = ConversationStore(session, user).history(conversation)
        return AgentContext.from_request(user, conversation, history)

    def tasks(self, user: str = "ana") -> list[Task]:
        with owned_session(self.database.session, user) as session:
            return TaskStore(session, user).find()

    def titles(self, user: str = "ana") -> list[str]:
        return [task.title for task in self.tasks(user)]

    def add(self, *titles: str, user: str = "ana", **values: Any) -> None:
        with owned_session(self.database.session, user, writes=True) as session:
            for title in titles:
                TaskStore(session, user).add(title, **values)

    async def aclose(self) -> None:
        await self.runner.aclose()
