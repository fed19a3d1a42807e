"""The server as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi.staticfiles import StaticFiles

import maverick
from maverick.chat import AgentRunner, Database, MCPToolServer
from maverick.chat.host_check import HostCheck
from maverick.chat.migrations import migrate
from maverick.server.accounts import Accounts
from maverick.server.answer_service import AnswerService
from maverick.server.answer_store import AnswerStore
from maverick.server.dependencies import ChatService
from maverick.server.errors import answer_refusals
from maverick.server.limits import AdmissionQueue, ConcurrencyLimit, LoginThrottle, RateLimiter, ServerLimits
from maverick.server.metrics import Gauge, ServerMetrics
from maverick.server.middleware import BodyLimit, Observer
from maverick.server.routes import chat, conversations, front_ends, operations, signing_in, tasks
from maverick.server.schema import SERVER
from maverick.server.tokens import SignOuts, TokenSigner, Verifier
from maverick.server.updates import Updates

_PAGE = Path(__file__).parent / "page"


class _Page(StaticFiles):
    """The page's files, which a browser asks for again so that they always fit each other."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """A file."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def create_app(
    runner: AgentRunner,
    database: Database,
    *,
    verifier: Verifier,
    signup: bool = False,
    limits: ServerLimits | None = None,
    metrics_token: str | None = None,
    allowed_hosts: Sequence[str] = (),
) -> FastAPI:
    """The Chat API and its web page.

    Args:
        runner: Who answers; it is closed with the app.
        database: Where everything is kept; the same as the runner's.
        verifier: Proves who users are. A :class:`TokenSigner` brings accounts with passwords with it; an
            :class:`OidcVerifier` takes the tokens of a sign-in service.
        signup: Whether anybody may make an account.
        limits: How much a user may ask for.
        metrics_token: What a collector of metrics proves itself with; users can read them in any case.
        allowed_hosts: The names it may be called by, besides ``localhost`` and addresses; ``"*"`` for every name.
    """
    limits = limits or ServerLimits()
    updates, metrics = Updates(), ServerMetrics()
    at_work = ConcurrencyLimit(
        limits.answers, "There are enough answers in the making. Wait for one of them, or stop it."
    )
    streams = ConcurrencyLimit(limits.streams, "Too many streams are open. Close a tab, then try again.")
    entrance = AdmissionQueue(limits.waiting)
    answers = AnswerService(
        runner,
        AnswerStore(database.session, limits),
        entrance=entrance,
        places=at_work,
        updates=updates,
        metrics=metrics,
    )
    metrics.gauges += [
        Gauge("maverick_answers_running", "Answers in the making.", lambda: at_work.total),
        Gauge("maverick_questions_waiting", "Questions that wait to be taken in.", lambda: entrance.waiting),
        Gauge("maverick_streams_open", "Streams that are open.", lambda: streams.total),
    ]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        migrate(database.engine, SERVER)
        yield
        await service.aclose()

    app = FastAPI(
        title="Maverick Chat",
        version=maverick.__version__,
        summary="Conversations with an agent that keeps one person's tasks.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    service = app.state.service = ChatService(
        session_factory=database.session,
        runner=runner,
        tools=MCPToolServer(database.session),
        verifier=verifier,
        accounts=Accounts(database.session) if isinstance(verifier, TokenSigner) else None,
        signup=signup and isinstance(verifier, TokenSigner),
        limits=limits,
        answers=answers,
        updates=updates,
        metrics=metrics,
        requests=RateLimiter(limits.requests_per_minute),
        guesses=LoginThrottle(limits.sign_ins_per_minute),
        sign_outs=SignOuts(database.session),
        streams=streams,
        metrics_token=metrics_token,
    )
    answer_refusals(app)
    for module in (signing_in, chat, conversations, tasks, front_ends, operations):
        app.include_router(module.router)
    app.include_router(chat.approvals)
    app.mount("/", _Page(directory=_PAGE, html=True), name="page")
    app.add_middleware(BodyLimit, most=limits.body_bytes)
    app.add_middleware(HostCheck, names=allowed_hosts)
    app.add_middleware(Observer, metrics=metrics)
    return app
