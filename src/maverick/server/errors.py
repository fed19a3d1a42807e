"""Errors of the API: requests that are refused and answers that fail, in plain words; the log has the details."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from maverick.chat.reasons import plain_reason
from maverick.exceptions import AgentError, ErrorKind, StorageError
from maverick.telemetry import log

_WRONG_KEY = "The language model rejected this server's key. Please tell the administrator of this server."
_OTHER = "Something went wrong on the server. Its log has the details."


def reason_of(error: Exception) -> str:
    """Why there is no answer, in plain words; empty if the user stopped it."""
    return plain_reason(error, wrong_key=_WRONG_KEY, otherwise=_OTHER)


def log_in_full(message: str, error: BaseException, **ids: Any) -> None:
    """Log an error with all of its causes and their tracebacks.

    The messages of errors that are not ours are left out: they may quote a user, or a key.
    """
    fields: dict[str, Any] = {**ids, "error": type(error).__name__, "text": str(error)}
    for name in ("kind", "status", "request_id", "retry_after"):
        if (value := getattr(error, name, None)) is not None:
            fields[name] = str(value)
    log(logging.ERROR, message, fields, text=f"{message}: {error}", error=error)


class Refusal(BaseModel):
    """Why a request was refused."""

    code: str
    """The code for programs."""
    message: str
    """What happened and what to do next."""
    fields: list[str] = []
    """The fields that are wrong, if known."""


class RefusalBody(BaseModel):
    """The body of every error."""

    error: Refusal


class RequestRefusedError(AgentError, kind=ErrorKind.INVALID):
    """A request is refused, with a code for programs, a message for people, and the fields that are wrong, if known."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        *,
        fields: Sequence[str] = (),
        **details: Any,
    ) -> None:
        super().__init__(message, **details)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
        self.wrong_fields = list(fields)

    def response(self) -> JSONResponse:
        """It as the response to the request."""
        body = RefusalBody(error=Refusal(code=self.code, message=str(self), fields=self.wrong_fields))
        return JSONResponse(body.model_dump(), self.status, headers=self.headers)


def unauthorized(message: str) -> RequestRefusedError:
    """The request is not authenticated."""
    return RequestRefusedError(401, "unauthorized", message, {"WWW-Authenticate": "Bearer"})


def not_found(what: str) -> RequestRefusedError:
    """The user has no such thing; whether another user has is not said."""
    return RequestRefusedError(404, "not_found", f"There is no such {what}.")


def too_many(message: str, retry_after: float) -> RequestRefusedError:
    """A limit of the user is reached."""
    return RequestRefusedError(429, "too_many", message, {"Retry-After": str(max(1, round(retry_after)))})


def key_reused() -> RequestRefusedError:
    """An idempotency key came with another request before."""
    message = "The idempotency key was used for another request. A new request needs a new key."
    return RequestRefusedError(422, "key_reused", message)


def unavailable(message: str, retry_after: int = 2) -> RequestRefusedError:
    """A service that is needed cannot be reached."""
    return RequestRefusedError(503, "unavailable", message, {"Retry-After": str(retry_after)})


_HTTP = {
    400: ("invalid", "The body cannot be read. Send a JSON object."),
    404: ("not_found", "Not found."),
    405: ("method_not_allowed", "Method not allowed."),
}
"""Errors of the framework."""


def answer_refusals(app: FastAPI) -> None:
    """Make an app send every error in the same form."""

    @app.exception_handler(RequestRefusedError)
    async def refused(_: Request, error: RequestRefusedError) -> JSONResponse:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        # The input is not repeated: it may be anything, even text that cannot be encoded.
        fields = sorted({_field(problem["loc"]) for problem in error.errors()})
        message = "Invalid request. Correct the fields that are listed."
        return RequestRefusedError(422, "invalid", message, fields=fields).response()

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        code, message = _HTTP.get(error.status_code, ("refused", "The request was refused."))
        return RequestRefusedError(error.status_code, code, message, error.headers).response()

    @app.exception_handler(StorageError)
    async def storage(request: Request, error: StorageError) -> JSONResponse:
        log_in_full("request_failed", error, method=request.method, path=request.url.path)
        return unavailable("The database cannot be reached. Try again in a moment.").response()


def _field(location: tuple[Any, ...]) -> str:
    """The field that is wrong, without keys that the client made up."""
    names = [part for part in location if isinstance(part, str) and part.isascii() and part.isprintable()]
    return ".".join(names)[:100]
