"""The Chat API with a model that answers at once, and the bare route it is measured beside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel

from maverick.chat import AgentRunner, Database, MCPToolServer
from maverick.chat.conversations import ConversationStore
from maverick.chat.database import owned_session
from maverick.chat.tables import ChatMessage, Conversation
from maverick.model import Request as ModelRequest
from maverick.model import Response, StreamItem, Usage
from maverick.server import ServerLimits, TokenSigner, create_app

SECRET = b"a secret that is good for figures only"
ANSWER = "You have nothing to do today. Enjoy it."


class InstantModel:
    """Says the same to everybody, at once."""

    async def run(self, request: ModelRequest) -> Response:  # noqa: ARG002 - whatever is asked
        return Response(ANSWER, usage=Usage(100, 10))

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        yield await self.run(request)


def chat_api(location: str) -> FastAPI:
    """The Chat API, whole: tokens, limits, the runner and its loop, the task tools, everything kept."""
    database = Database(location)
    runner = AgentRunner(database.session, MCPToolServer(database.session), client=InstantModel())
    limits = ServerLimits(requests_per_minute=100_000)
    return create_app(runner, database, verifier=TokenSigner(SECRET), limits=limits)


class _Message(BaseModel):
    message: str
    conversation_id: str | None = None


def bare_route(location: str) -> FastAPI:
    """A route that writes the same rows in the same transactions, and nothing else: no proof of who asks, no agent."""
    database, app = Database(location), FastAPI()
    database.engine  # noqa: B018 - opened before the first request, as the other one is

    @app.post("/api/chat")
    def chat(body: _Message, request: Request) -> dict[str, Any]:
        user_id = request.headers["Authorization"]
        with owned_session(database.session, user_id, writes=True) as session:
            conversation = ConversationStore(session, user_id).create(body.conversation_id)
            conversation.active_run = "run"
            ConversationStore(session, user_id).recall(conversation.id, 40)
            session.add(_said(conversation, "user", body.message))
        with owned_session(database.session, user_id, writes=True) as session:
            session.add(_said(conversation, "assistant", ANSWER))
            conversation.active_run = None
            session.add(conversation)
        return {"response": ANSWER, "conversation_id": conversation.id}

    return app


def _said(conversation: Conversation, role: str, content: str) -> ChatMessage:
    return ChatMessage(
        user_id=conversation.user_id, conversation_id=conversation.id, role=role, content=content
    )
