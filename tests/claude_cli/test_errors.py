"""Each error of the SDK becomes one of ours, with its cause and its fields."""

from __future__ import annotations

import json
from typing import Any

import claude_agent_sdk as sdk
import pytest
from claude_agent_sdk._errors import MessageParseError

from claude_cli.api import Greeter
from maverick.exceptions import (
    AbortedError,
    AgentError,
    AuthenticationError,
    CLINotFoundError,
    LimitExceededError,
    MalformedResponseError,
    NetworkError,
    ProcessError,
    ProviderError,
    RateLimitError,
    ServerError,
    TimeoutError,
)
from maverick.providers.claude_cli import api_error, result_error, wrap_sdk_error


def failed(**facts: Any) -> sdk.ResultError:
    return sdk.ResultError("failed", data={"is_error": True, "subtype": "success", **facts}, exit_code=1)


@pytest.mark.requirement("000-FR-007", "CLI-FAILURES", "P8")
@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        (sdk.CLINotFoundError(), CLINotFoundError, "Install it with"),
        (sdk.CLIConnectionError("x"), NetworkError, "run `maverick doctor`"),
        (sdk.ProcessError("x", exit_code=-9), ProcessError, "out of memory"),
        (sdk.ProcessError("x", exit_code=143), ProcessError, "was ended from outside"),
        (sdk.ProcessError("x", exit_code=1), ProcessError, "exited by itself with code 1"),
        (sdk.CLIJSONDecodeError("{oops", ValueError()), MalformedResponseError, "could not be read"),
        (MessageParseError("x", {"type": "odd"}), MalformedResponseError, "could not be read"),
        (failed(api_error_status=401, result="API Error: 401"), AuthenticationError, "Check the key"),
        (failed(api_error_status=429), RateLimitError, "asks to slow down"),
        (
            failed(subtype="error_max_turns", errors=["Reached maximum number of turns (1)"]),
            LimitExceededError,
            "turns",
        ),
        (failed(subtype="error_max_structured_output_retries"), MalformedResponseError, "declared type"),
        (
            failed(subtype="error_during_execution", terminal_reason="aborted_tools"),
            AbortedError,
            "was stopped",
        ),
        (failed(result="Request timed out"), TimeoutError, "took too long"),
        (
            failed(result="API Error: Can't reach the API server (ENOTFOUND)"),
            NetworkError,
            "Check the network",
        ),
        (failed(), ServerError, "no reason was given"),
        (OSError("x"), NetworkError, "connection to the Claude CLI broke"),
        (TimeoutError("ours"), TimeoutError, "ours"),
        (Exception("Control request timeout: initialize"), TimeoutError, "allow it more time"),
        (RuntimeError("x"), AgentError, "failed with RuntimeError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_of_the_sdk_becomes_one_of_ours(
    error: Exception, expected: type[AgentError], words: str
) -> None:
    ours = Greeter()._wrap_sdk_error(error)

    assert type(ours) is expected
    assert words in str(ours)
    assert ours is error or ours.__cause__ is error


@pytest.mark.requirement(
    "001-ERROR-CLI-NOT-FOUND",
    "001-ERROR-PROCESS",
    "001-ERROR-MALFORMED",
    "000-EDGE-MALFORMED",
    "000-EDGE-CLI",
)
def test_what_a_caller_branches_on_is_in_the_fields() -> None:
    missing = wrap_sdk_error(sdk.CLINotFoundError(), cli_path="/opt/claude")
    exited = wrap_sdk_error(sdk.ProcessError("x", exit_code=3), stderr="one\nbad flag")
    garbled = wrap_sdk_error(sdk.CLIJSONDecodeError("{oops", ValueError()))
    odd = wrap_sdk_error(MessageParseError("x", {"type": "odd"}))
    limit = result_error({"subtype": "error_max_budget_usd", "errors": ["Reached maximum budget ($1)"]})

    assert isinstance(missing, CLINotFoundError)
    assert missing.cli_path == "/opt/claude"
    assert isinstance(exited, ProcessError)
    assert (exited.exit_code, exited.stderr) == (3, "one\nbad flag")
    assert "It said: bad flag" in str(exited)
    assert isinstance(garbled, MalformedResponseError)
    assert garbled.raw_response == "{oops"
    assert isinstance(odd, MalformedResponseError)
    assert json.loads(odd.raw_response) == {"type": "odd"}
    assert isinstance(limit, LimitExceededError)
    assert limit.limit == "max_budget_usd"


@pytest.mark.requirement("000-EDGE-MALFORMED")
def test_the_message_in_which_the_cli_reports_a_malformed_response_is_kept_as_it_came() -> None:
    report = {"subtype": "success", "is_error": True, "result": "API Error: JSON Parse error", "uuid": "u"}

    error = result_error({**report, "errors": None})

    assert isinstance(error, MalformedResponseError)
    assert json.loads(error.raw_response) == report


@pytest.mark.requirement("CLI-FAILURES")
@pytest.mark.parametrize("facts", [{}, {"errors": [None, 3], "result": 5}, {"subtype": None, "errors": None}])
def test_a_report_with_parts_missing_is_an_error_of_ours_all_the_same(facts: dict[str, Any]) -> None:
    assert isinstance(result_error(facts), AgentError)


@pytest.mark.requirement("CLI-FAILURES")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("authentication_failed", AuthenticationError),
        ("billing_error", ProviderError),
        ("rate_limit", RateLimitError),
        ("invalid_request", ProviderError),
        ("model_not_found", ProviderError),
        ("server_error", ServerError),
        ("unknown", ServerError),
    ],
)
def test_each_error_an_assistant_message_can_have_is_known(name: str, expected: type[AgentError]) -> None:
    assert type(api_error("It failed.", error=name)) is expected
