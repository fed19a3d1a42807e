"""Requests that are not served: each with its status, a code for programs and a sentence for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from maverick.exceptions import AgentError, ErrorKind, StorageError
from maverick.server.failures import log_in_full


class RequestRefusedError(AgentError):
    """A request is not served.

    Args:
        status: The HTTP status.
        code: What a program branches on.
        message: What happened and what to do next.
        headers: Headers that belong to the status, such as ``Retry-After``.
    """

    default_kind = ErrorKind.INVALID

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None, **details: Any
    ) -> None:
        super().__init__(message, **details)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


class Refusal(BaseModel):
    """Why a request was not served."""

    code: str
    """What a program branches on."""
    message: str
    """What happened and what to do next."""
    fields: list[str] = []
    """The parts of the request that are wrong, if it is known which."""


class RefusalBody(BaseModel):
    """The body of every answer that is an error."""

    error: Refusal


def unauthorized(message: str, cause: BaseException | None = None) -> RequestRefusedError:
    """Nobody has proved who they are."""
    headers = {"WWW-Authenticate": "Bearer"}
    return RequestRefusedError(401, "unauthorized", message, headers, cause=cause)


def not_found(what: str) -> RequestRefusedError:
    """The user has no such thing; whether somebody else has is not said."""
    return RequestRefusedError(404, "not_found", f"There is no such {what}.")


def too_many(message: str, retry_after: float) -> RequestRefusedError:
    """A limit of the user is reached for now."""
    return RequestRefusedError(429, "too_many", message, {"Retry-After": str(max(1, round(retry_after)))})


def answer_refusals(app: FastAPI) -> None:
    """Have an app answer every error in the same form."""
    app.add_exception_handler(RequestRefusedError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(StorageError, _storage)


def refusal_response(
    status: int,
    code: str,
    message: str,
    fields: list[str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error as it is sent."""
    body = RefusalBody(error=Refusal(code=code, message=message, fields=fields or []))
    return JSONResponse(body.model_dump(), status, headers=dict(headers or {}))


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestRefusedError)  # noqa: S101 - what it is registered for
    return refusal_response(error.status, error.code, str(error), headers=error.headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what it is registered for
    # What was sent is not repeated: it may be anything, even text that can not be encoded.
    fields = sorted({_field(problem["loc"]) for problem in error.errors()})
    return refusal_response(
        422, "invalid", "The request is not as it should be. The fields that are wrong are listed.", fields
    )


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    code, message = _HTTP.get(error.status_code, ("refused", "The request was refused."))
    return refusal_response(error.status_code, code, message, headers=error.headers)


async def _storage(request: Request, error: Exception) -> JSONResponse:
    log_in_full("request_failed", error, method=request.method, path=request.url.path)
    return refusal_response(
        503,
        "unavailable",
        "The data can not be reached right now. Try again in a moment.",
        headers={"Retry-After": "2"},
    )


def _field(location: tuple[Any, ...]) -> str:
    """The part of the request that is wrong; a key that the client made up is not among its parts."""
    names = [
        str(part) for part in location if isinstance(part, str) and part.isascii() and part.isprintable()
    ]
    return ".".join(names)[:100]


_HTTP = {
    400: ("invalid", "The body could not be read. Send a JSON object."),
    404: ("not_found", "There is nothing at this address."),
    405: ("method_not_allowed", "This address does not know this method."),
}
"""What the framework itself refuses, in our words."""
