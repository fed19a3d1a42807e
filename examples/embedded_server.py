"""Agents inside a FastAPI application of your own: mounted under a path, for the users that it signs in.

::

    uvicorn embedded_server:app
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request

from maverick import AgentExecutor, SqliteJournal, define_agent, tool
from maverick.model import LLMClient
from maverick.server import create_app

SESSIONS = {"a-session-of-ana": "ana", "a-session-of-the-boss": "boss"}
"""Who is signed in: your own table, or the verified claims of a token."""


@tool(approval=True)
async def send_mail(to: str, body: str) -> str:
    """Send an e-mail."""
    return f"sent {len(body)} characters to {to}"


clerk = define_agent("clerk", "You write letters.", model="claude:claude-sonnet-5-5", tools=[send_mail])


def user_of(request: Request) -> str | None:
    """The user who makes a request; everything of theirs is kept under this id, and no one else sees it."""
    return SESSIONS.get(request.cookies.get("session", ""))


def application(journal: SqliteJournal, client: LLMClient | None = None) -> FastAPI:
    """The application: its own pages, and the agents' page and API under /assistant/."""
    executor = AgentExecutor(client, may_approve=lambda _, by: by == "boss")
    assistant = create_app(agents=[clerk], journal=journal, executor=executor, authenticate=user_of)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        # A mounted app is not told when the other one starts and ends.
        async with journal, assistant.router.lifespan_context(assistant):
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/")
    async def home() -> dict[str, str]:
        return {"assistant": "/assistant/"}

    app.mount("/assistant", assistant)
    return app


app = application(SqliteJournal("runs.db"))
