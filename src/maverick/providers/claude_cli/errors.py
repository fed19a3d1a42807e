"""Translates failures of the CLI into our errors.

There are three sources: errors that the SDK raises, messages in which the CLI reports a failure of the API, and
limits that the CLI enforces.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from maverick.exceptions import (
    AbortedError,
    AgentError,
    AuthenticationError,
    CLINotFoundError,
    LimitExceededError,
    MalformedResponseError,
    NetworkError,
    ProcessError,
    ServerError,
    TimeoutError,
)
from maverick.providers.claude.response import SERVICE
from maverick.providers.claude_cli.options import sdk
from maverick.providers.http.errors import ServiceError, status_error
from maverick.providers.http.exchange import hide_secrets

if TYPE_CHECKING:
    from claude_agent_sdk import ResultMessage

_STATUS_OF_ERROR: Mapping[str, int] = {
    "billing_error": 402,
    "invalid_request": 400,
    "model_not_found": 404,
    "rate_limit": 429,
}
"""What an ``AssistantMessage.error`` means where no status came with it."""

_LIMITS: Mapping[str, str] = {
    "error_max_turns": "max_turns",
    "error_max_budget_usd": "max_budget_usd",
    "error_max_structured_output_retries": "output_type",
}
_TOO_LONG = ("prompt is too long", "exceed context limit", "exceeds the context window")
_TIMED_OUT = ("timed out", "timeout")
_UNREACHABLE = (
    "econn",
    "enotfound",
    "connection to the api was lost",
    "can't reach the api",
    "connection refused",
)
_NOT_AN_ANSWER = ("json", "stream ended without")


def wrap_sdk_error(
    error: BaseException, *, cli_path: str | None = None, stderr: str = "", secrets: Iterable[str] = ()
) -> AgentError:
    """Our error for one that the SDK or the CLI's process raised, without the secrets; one of ours is returned as it is."""
    if isinstance(error, AgentError):
        return error
    module, secrets = sdk(), tuple(secrets)
    stderr = hide_secrets(stderr, secrets)
    from claude_agent_sdk._errors import MessageParseError  # the one error that the SDK does not show

    makers: list[tuple[type[Exception], Callable[[Any], AgentError]]] = [
        (module.CLINotFoundError, lambda missing: CLINotFoundError(cli_path=cli_path, cause=missing)),
        (module.ResultError, lambda failed: result_error(failed.data, cause=failed, secrets=secrets)),
        (module.ProcessError, lambda exited: _exited(exited, stderr)),
        (module.CLIJSONDecodeError, lambda garbled: _malformed(garbled.line, garbled)),
        (MessageParseError, lambda odd: _malformed(_raw(odd.data or {}), odd)),
        (module.CLIConnectionError, lambda deaf: _not_listening(deaf, stderr)),
    ]
    for kind, make in makers:
        if isinstance(error, kind):
            return make(error)
    return _from_elsewhere(error)


def result_error(
    result: ResultMessage | Mapping[str, Any],
    *,
    error: str = "",
    answer: str = "",
    cause: BaseException | None = None,
    secrets: Iterable[str] = (),
) -> AgentError:
    """The error for a run whose last message says that it failed, without the secrets: services quote keys."""
    secrets = tuple(secrets)
    facts = result if isinstance(result, Mapping) else vars(result)
    said = " ".join(
        str(words) for words in [*(facts.get("errors") or []), facts.get("result")] if words
    ).strip()
    said = hide_secrets(said, secrets)
    subtype = str(facts.get("subtype"))
    reason = str(facts.get("terminal_reason") or "")
    if subtype in _LIMITS:
        return _limit(_LIMITS[subtype], said, answer, cause)
    if reason.startswith("aborted"):
        return AbortedError("The run was stopped before it finished.", reason=reason, cause=cause)
    return api_error(
        said,
        status=facts.get("api_error_status"),
        error=error,
        raw_response=hide_secrets(_raw(facts), secrets),
        cause=cause,
    )


def api_error(
    said: str,
    *,
    status: int | None = None,
    error: str = "",
    raw_response: str = "",
    cause: BaseException | None = None,
) -> AgentError:
    """The error for a failure of the API that the CLI reports."""
    words = said.lower()
    status = status or _STATUS_OF_ERROR.get(error)
    if status is not None:
        overflow = any(phrase in words for phrase in _TOO_LONG)
        failure: AgentError = status_error(SERVICE, status, ServiceError(_plain(said)), {}, too_long=overflow)
        failure.__cause__ = cause
        return failure
    if error == "authentication_failed" or "not logged in" in words or "authenticate" in words:
        return AuthenticationError(
            "The Claude CLI is not logged in. Set ANTHROPIC_API_KEY, or run `claude` once and log in.",
            cause=cause,
        )
    plain = _plain(said) or "no reason was given"
    if any(phrase in words for phrase in _TIMED_OUT):
        message = f"{SERVICE} took too long to answer: {plain}. Try again, or allow it more time."
        return TimeoutError(message, cause=cause)
    if any(phrase in words for phrase in _UNREACHABLE):
        advice = "Check the network, the proxy and ANTHROPIC_BASE_URL."
        return NetworkError(f"{SERVICE} could not be reached: {plain}. {advice}", cause=cause)
    if any(phrase in words for phrase in _NOT_AN_ANSWER):
        return _malformed(raw_response or said, cause)
    return ServerError(f"{SERVICE} failed: {plain}. Try again later.", cause=cause)


def _limit(limit: str, said: str, answer: str, cause: BaseException | None) -> AgentError:
    if limit == "output_type":
        return MalformedResponseError(
            "The answer did not fit the declared type after several attempts. Simplify the type, or say in the "
            "prompt what is wanted.",
            raw_response=answer,
            cause=cause,
        )
    return LimitExceededError(
        f"{_plain(said) or 'A limit of the run was reached'}. Raise {limit}, or give the agent less to do.",
        limit=limit,
        cause=cause,
    )


def _exited(error: Any, stderr: str) -> ProcessError:  # noqa: ANN401 - the SDK's ProcessError, loaded on use
    """Why the CLI is gone: it was killed, or it exited by itself."""
    code = error.exit_code
    said = stderr or error.stderr or ""
    if code in {-9, 137}:
        what = "was killed. It may have run out of memory: look at the system's log, and start fewer at once"
    elif code is not None and (code < 0 or code > 128):
        what = "was ended from outside. Start the run again"
    else:
        what = f"exited by itself with code {code}. " + (
            f"It said: {said.splitlines()[-1]}" if said else "Run `claude` in a terminal to see why"
        )
    return ProcessError(f"The Claude CLI {what}.", exit_code=code, stderr=said or None, cause=error)


def _not_listening(error: Exception, stderr: str) -> NetworkError:
    said = f" It said: {stderr.splitlines()[-1]}." if stderr else ""
    return NetworkError(
        f"The connection to the Claude CLI could not be made, or broke.{said} Try again; if it keeps happening, run "
        "`maverick doctor`, and `claude --version` where the CLI is.",
        cause=error,
    )


def _malformed(raw: str, cause: BaseException | None) -> MalformedResponseError:
    return MalformedResponseError(
        f"The response from {SERVICE} could not be read. Try again; if it keeps happening, check "
        "ANTHROPIC_BASE_URL, and whether a proxy or a login page answers in its place.",
        raw_response=raw,
        cause=cause,
    )


def _from_elsewhere(error: BaseException) -> AgentError:
    """Our error for one that is not the SDK's."""
    if isinstance(error, builtins.TimeoutError) or "timeout" in str(error).lower():
        return TimeoutError(
            "The Claude CLI took too long to answer. Try again, or allow it more time.", cause=error
        )
    if isinstance(error, OSError):
        return NetworkError("The connection to the Claude CLI broke. Try again.", cause=error)
    return AgentError(
        f"The Claude Agent SDK failed with {type(error).__name__}. See the cause. Try again, and update "
        "the SDK if it keeps happening.",
        cause=error,
    )


def _raw(facts: Mapping[str, Any]) -> str:
    """A message of the CLI as JSON, without empty fields."""
    return json.dumps({name: value for name, value in facts.items() if value is not None}, default=str)


def _plain(said: str) -> str:
    """The CLI's text without its label and its last full stop."""
    return " ".join(said.removeprefix("API Error: ").split()).rstrip(". ")
