"""Health, metrics, and the stream of updates for pages."""

from __future__ import annotations

import hmac

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel

from maverick.chat.database import owned_session
from maverick.exceptions import NetworkError
from maverick.server.authentication import bearer_of
from maverick.server.dependencies import REFUSALS, STREAM, ChatService, Service, User, signed_in
from maverick.server.errors import unavailable
from maverick.server.event_stream import EventStream, encoded_updates
from maverick.tools.threads import run_in_thread

router = APIRouter(responses=REFUSALS)


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
