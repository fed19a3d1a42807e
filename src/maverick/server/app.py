"""The server as an ASGI application: its routes, with those for its health, its metrics and its updates."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel

import maverick
from maverick.chat import AgentRunner, Database
from maverick.chat.database import owned_session
from maverick.chat.host_check import HostCheck
from maverick.exceptions import NetworkError
from maverick.journal import Journal, SqliteJournal
from maverick.loop import AgentDefinition
from maverick.misuse import refuse
from maverick.runtime import AgentExecutor
from maverick.server.agents import Agents
from maverick.server.answerers import AgentAnswerer, Answerer, TaskChat
from maverick.server.authentication import Authenticate, bearer_of
from maverick.server.dependencies import REFUSALS, STREAM, ChatService, Service, User, signed_in
from maverick.server.errors import answer_refusals, unavailable
from maverick.server.event_stream import EventStream, encoded_updates
from maverick.server.limits import ServerLimits
from maverick.server.middleware import BodyLimit, Observer
from maverick.server.routes import chat, conversations, front_ends, signing_in, tasks
from maverick.server.served_agent import MakeExecutor, ServedAgent
from maverick.server.tables import SERVER
from maverick.server.tokens import Verifier
from maverick.tools.threads import run_in_thread

if TYPE_CHECKING:
    from maverick.fleet import Fleet

router = APIRouter(responses=REFUSALS)
_PAGE = Path(__file__).parent / "page"


class _Page(StaticFiles):
    """The page's files, which browsers revalidate, so that they always fit each other."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """A file."""
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def create_app(
    runner: AgentRunner | None = None,
    database: Database | None = None,
    *,
    agents: Sequence[AgentDefinition[Any] | ServedAgent] = (),
    journal: Journal | None = None,
    executor: AgentExecutor | MakeExecutor | None = None,
    verifier: Verifier | None = None,
    authenticate: Authenticate | None = None,
    signup: bool = False,
    limits: ServerLimits | None = None,
    metrics_token: str | None = None,
    allowed_hosts: Sequence[str] = (),
    fleet: Fleet | None = None,
) -> FastAPI:
    """Agents to chat with, over HTTP: an API, its streams and approvals, and a web page.

    Args:
        runner: The task chat, if it is served; it is closed with the app.
        database: Where conversations and accounts are kept: the runner's database; for agents, by default the journal's
            Postgres database, or a file beside its file.
        agents: The agents that are served. A conversation is with one of them; the first is the default.
        journal: Where the runs of the agents are kept; by default the executor's journal.
        executor: What runs the agents, or a function ``(definition, user_id)`` that returns what does for a user. By default
            each definition's own model is connected to.
        verifier: Verifies users by their tokens. A :class:`TokenSigner` comes with accounts and passwords, and is the
            default; an :class:`OidcVerifier` accepts the tokens of an OpenID Connect provider.
        authenticate: Says which user makes a request, instead: for an app that is part of another one.
        signup: Whether anyone may create an account.
        limits: The limits of each user.
        metrics_token: A token for collectors of metrics; users can read them too.
        allowed_hosts: The host names it answers to, besides ``localhost`` and addresses; ``"*"`` for every name.
        fleet: The fleet whose workers make the answers, on the same Postgres database; by default this process makes
            them. It is closed with the app.

    Raises:
        InvalidInputError: There is nothing to serve, or no place to keep it.
    """
    limits = limits or ServerLimits()
    if verifier is not None and authenticate is not None:
        refuse("authenticate", "give this or a verifier, not both.")
    journal = journal or _journal_of(executor) or (None if fleet is None else fleet.journal)
    served = Agents(_answerers(runner, agents, journal, executor))
    is_given = database is not None
    database = database or _database_beside(journal)
    database.include(SERVER)
    service = ChatService(
        database, served, authenticate, verifier, limits, fleet, signup=signup, metrics_token=metrics_token
    )

    routers = [
        signing_in.router,
        chat.router,
        chat.approvals,
        conversations.router,
        front_ends.router,
        router,
    ]
    if runner is not None:
        routers.append(tasks.router)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await run_in_thread(lambda: database.engine)  # found to be wrong now, if it is
        yield
        await service.aclose()
        if not is_given:
            await run_in_thread(database.close)

    app = FastAPI(
        title="Maverick Chat",
        version=maverick.__version__,
        summary="Conversations with agents.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from other sites
        redoc_url=None,
        # As they are, not included: a router that is included is built again, for each app and with its first request.
        routes=[route for included in routers for route in included.routes],
    )
    app.state.service = service
    answer_refusals(app)
    app.mount("/", _Page(directory=_PAGE, html=True), name="page")
    with_media = limits.body_bytes + limits.attachment_bytes * 4 // 3
    app.add_middleware(
        BodyLimit,
        most=limits.body_bytes,
        most_signed_in={"/api/chat": with_media},
        verify=service.authentication.user,
    )
    app.add_middleware(HostCheck, names=allowed_hosts)
    app.add_middleware(Observer, metrics=service.metrics)
    return app


def _answerers(
    runner: AgentRunner | None,
    agents: Sequence[AgentDefinition[Any] | ServedAgent],
    journal: Journal | None,
    executor: AgentExecutor | MakeExecutor | None,
) -> Iterator[Answerer]:
    if runner is not None:
        yield TaskChat(runner)
    if isinstance(agents, AgentDefinition):
        refuse("agents", f"expected a list. Write agents=[{agents.name}].")
    for agent in agents:
        if journal is None:
            refuse(
                "journal",
                "the runs of served agents are kept in one. Pass journal=SqliteJournal(…) or "
                "PostgresJournal(…).",
            )
        if isinstance(agent, ServedAgent):
            yield AgentAnswerer(agent, journal)
        elif isinstance(agent, AgentDefinition):
            yield AgentAnswerer(ServedAgent.made(agent, journal, executor), journal)
        else:
            refuse("agents", f"expected a list of AgentDefinitions, got {agent!r} in it.")


def _journal_of(executor: AgentExecutor | MakeExecutor | None) -> Journal | None:
    return executor.options["journal"] if isinstance(executor, AgentExecutor) else None


def _database_beside(journal: Journal | None) -> Database:
    """Where conversations are kept whose runs are in a journal."""
    if isinstance(journal, SqliteJournal):
        path = Path(journal.path)
        return Database(path.with_name(f"{path.stem}-chat{path.suffix or '.db'}"))
    address = getattr(journal, "address", None)
    if not isinstance(address, str):
        refuse("database", "name where conversations are kept: database=Database(…).")
    return Database(address)


class State(BaseModel):
    """The state of the server."""

    status: str


@router.get("/health", tags=["operations"])
async def health() -> State:
    """Whether the process is alive."""
    return State(status="ok")


@router.get("/ready", tags=["operations"])
async def ready(service: Service) -> State:
    """Whether requests can be served: 503 while the database, or the Temporal of a fleet, cannot be reached."""
    await run_in_thread(_read, service)
    try:
        await service.answers.check()
    except NetworkError as error:
        raise unavailable(str(error)) from error
    return State(status="ready")


def _read(service: ChatService) -> None:
    with owned_session(service.database.session, "") as session:
        session.connection().exec_driver_sql("SELECT 1")


@router.get("/metrics", tags=["operations"], response_class=PlainTextResponse)
async def metrics(request: Request, service: Service) -> PlainTextResponse:
    """The server's metrics, for Prometheus: with the metrics token, or that of any user."""
    token, given = service.metrics_token, bearer_of(request)
    if token is None or given is None or not hmac.compare_digest(token.encode(), given.encode()):
        await signed_in(request)
    return PlainTextResponse(service.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/api/updates", tags=["chat"], response_model=None, responses=STREAM)
async def updates(request: Request, user: User, service: Service) -> Response:
    """A stream that says when the user's ``tasks`` or ``conversations`` have changed, in whichever tab.

    It ends when its session does.
    """
    service.streams.acquire(user.user_id)
    changes = service.updates.listen(user.user_id)
    told = encoded_updates(changes, lambda: service.authentication.is_over(request, user))
    return EventStream(told, lambda: service.streams.release(user.user_id))
