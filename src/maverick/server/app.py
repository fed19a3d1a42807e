"""The server as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Response
from fastapi.staticfiles import StaticFiles

import maverick
from maverick.chat import AgentRunner, Database, MCPToolServer
from maverick.chat.host_check import HostCheck
from maverick.chat.migrations import migrate
from maverick.server.accounts import Accounts
from maverick.server.answer_maker import AnswerMaker
from maverick.server.answer_service import AnswerService, AnswerSource
from maverick.server.answer_store import AnswerStore
from maverick.server.dependencies import ChatService, token_of
from maverick.server.errors import answer_refusals
from maverick.server.limits import AdmissionQueue, ConcurrencyLimit, LoginThrottle, RateLimiter, ServerLimits
from maverick.server.local_answers import LocalAnswers
from maverick.server.metrics import ServerMetrics
from maverick.server.middleware import BodyLimit, Observer
from maverick.server.routes import chat, conversations, front_ends, operations, signing_in, tasks
from maverick.server.schema import SERVER
from maverick.server.tokens import SignOuts, TokenSigner, Verifier
from maverick.server.updates import Updates

if TYPE_CHECKING:
    from maverick.fleet import Fleet

_PAGE = Path(__file__).parent / "page"


class _Page(StaticFiles):
    """The page's files, which browsers revalidate, so that they always fit each other."""

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
    fleet: Fleet | None = None,
) -> FastAPI:
    """The Chat API and its web page.

    Args:
        runner: Answers the messages; it is closed with the app.
        database: Where everything is kept; the same as the runner's.
        verifier: Verifies users. A :class:`TokenSigner` comes with accounts and passwords; an :class:`OidcVerifier`
            accepts the tokens of an OpenID Connect provider.
        signup: Whether anyone may create an account.
        limits: The limits of each user.
        metrics_token: A token for collectors of metrics; users can read them too.
        allowed_hosts: The host names it answers to, besides ``localhost`` and addresses; ``"*"`` for every name.
        fleet: The fleet whose workers make the answers, on the same Postgres database; by default this process makes
            them. It is closed with the app.
    """
    limits = limits or ServerLimits()
    updates, metrics = Updates(), ServerMetrics()
    in_progress = ConcurrencyLimit(limits.answers, "Too many answers in progress. Wait for one, or stop one.")
    streams = ConcurrencyLimit(limits.streams, "Too many open streams. Close a tab, then try again.")
    queue = AdmissionQueue(limits.waiting)
    store = AnswerStore(database.session, limits)
    source: AnswerSource
    if fleet is None:
        source = LocalAnswers(AnswerMaker(runner, store, queue), updates, metrics)
    else:
        from maverick.server.fleet_answers import FleetAnswers  # here, since it needs the extra temporal

        source = FleetAnswers(fleet, runner, store, updates=updates, metrics=metrics)
    answers = AnswerService(source, store, queue=queue, in_progress=in_progress, updates=updates)
    metrics.add_gauge("maverick_answers_running", "Answers in progress.", lambda: in_progress.total)
    metrics.add_gauge(
        "maverick_questions_waiting", "Questions that wait for the database.", lambda: queue.waiting
    )
    metrics.add_gauge("maverick_streams_open", "Open streams.", lambda: streams.total)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        migrate(database.engine, SERVER)
        yield
        await service.aclose()

    app = FastAPI(
        title="Maverick Chat",
        version=maverick.__version__,
        summary="Conversations with an agent that keeps a user's tasks.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from other sites
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
        logins=LoginThrottle(limits.sign_ins_per_minute),
        sign_outs=SignOuts(database.session),
        streams=streams,
        metrics_token=metrics_token,
    )
    answer_refusals(app)
    for module in (signing_in, chat, conversations, tasks, front_ends, operations):
        app.include_router(module.router)
    app.include_router(chat.approvals)
    app.mount("/", _Page(directory=_PAGE, html=True), name="page")
    with_media = limits.body_bytes + limits.attachment_bytes * 4 // 3
    app.add_middleware(
        BodyLimit,
        most=limits.body_bytes,
        most_signed_in={"/api/chat": with_media},
        verify=lambda request: verifier.verify(token_of(request)),
    )
    app.add_middleware(HostCheck, names=allowed_hosts)
    app.add_middleware(Observer, metrics=metrics)
    return app
