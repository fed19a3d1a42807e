from __future__ import annotations

from email.utils import formatdate

import pytest

from maverick.exceptions import (
    AuthenticationError,
    ContextOverflowError,
    ErrorKind,
    ProviderError,
    RateLimitError,
    ServerError,
)
from maverick.providers.claude_exchange import ClaudeExchange
from maverick.providers.exchange import Exchange
from maverick.providers.http_errors import ErrorAnswer, excerpt, read_error_answer, retry_after, status_error
from maverick.providers.openai_exchange import OpenAIExchange
from maverick.providers.prices import PriceTable


@pytest.mark.requirement("002-R8", "P8")
@pytest.mark.parametrize(
    ("status", "error", "kind", "retryable"),
    [
        (301, ProviderError, ErrorKind.INVALID, False),
        (400, ProviderError, ErrorKind.INVALID, False),
        (401, AuthenticationError, ErrorKind.AGENT, False),
        (402, ProviderError, ErrorKind.INVALID, False),
        (403, AuthenticationError, ErrorKind.AGENT, False),
        (404, ProviderError, ErrorKind.INVALID, False),
        (408, ServerError, ErrorKind.AGENT, True),
        (409, ServerError, ErrorKind.AGENT, True),
        (413, ContextOverflowError, ErrorKind.INVALID, False),
        (422, ProviderError, ErrorKind.INVALID, False),
        (429, RateLimitError, ErrorKind.RATE_LIMIT, True),
        (500, ServerError, ErrorKind.AGENT, True),
        (503, ServerError, ErrorKind.AGENT, True),
        (529, ServerError, ErrorKind.AGENT, True),
    ],
)
def test_each_status_is_one_error(
    status: int, error: type[ProviderError], kind: ErrorKind, retryable: bool
) -> None:
    made = status_error("Acme", status, ErrorAnswer("It broke."), {"request-id": "r1"})
    assert type(made) is error
    assert (made.kind, made.retryable, made.status, made.request_id) == (kind, retryable, status, "r1")
    assert "Acme" in str(made)
    assert "It broke" in str(made)
    assert f"status {status}, request r1" in str(made)


def test_an_overflow_is_an_overflow_whatever_its_status() -> None:
    assert type(status_error("Acme", 400, ErrorAnswer(), {}, overflow=True)) is ContextOverflowError


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0.5", 0.5), ("-3", 0), ("inf", None), ("nan", None), ("", None), ("soon", None)],
)
def test_a_wait_in_seconds_is_read_if_it_makes_sense(header: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": header}) == seconds


def test_a_wait_until_a_date_counts_from_now() -> None:
    now = 1_800_000_000.0
    assert retry_after({"retry-after": formatdate(now + 90, usegmt=True)}, now=now) == 90
    assert retry_after({"retry-after": formatdate(now - 90, usegmt=True)}, now=now) == 0


def test_no_wait_is_made_up() -> None:
    assert retry_after({}) is None


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (
            b'{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"r"}',
            ErrorAnswer("m", "api_error", "r"),
        ),
        (b'{"error":{"message":"m","type":null,"code":"bad_key"}}', ErrorAnswer("m", "bad_key")),
        (b'{"error":"model not found"}', ErrorAnswer("model not found")),
        (b'{"message":"m","code":404}', ErrorAnswer("m")),
        (b'{"detail":"Not Found"}', ErrorAnswer('{"detail":"Not Found"}')),
        (b"[1,2]", ErrorAnswer("[1,2]")),
        (b"<html>\n  Bad   Gateway</html>", ErrorAnswer("<html> Bad Gateway</html>")),
        (b"", ErrorAnswer("")),
        (b"\xff\xfe", ErrorAnswer("\ufffd\ufffd")),
    ],
)
def test_the_words_of_the_service_are_found_in_any_usual_shape(body: bytes, answer: ErrorAnswer) -> None:
    assert read_error_answer(body) == answer


def test_a_long_body_is_quoted_only_in_part() -> None:
    assert len(excerpt(b"x" * 100_000)) < 400


KEY = "sk-a/very+secret=="
EXCHANGES: tuple[Exchange, ...] = (
    ClaudeExchange("m", {}, PriceTable(), secret=KEY),
    OpenAIExchange("The server", "m", {}, secret=KEY),
)


@pytest.mark.requirement("P8", "P9")
@pytest.mark.parametrize(
    "body",
    [
        b'{"type": "error", "error": {"type": "api_error", "message": "bad key sk-a/very+secret=="}}',
        b'{"type": "error", "error": {"type": "api_error", "message": "bad key sk-a\\/very\\u002bsecret=="}}',
        b'{"type": "error", "error": {"type": "api_error", "key": "sk-a/very+secret=="}}',
        b"<html>Who is sk-a/very+secret==?</html>",
        b"x" * 1190 + b"sk-a/very+secret==",
    ],
    ids=["said", "escaped", "elsewhere", "a page", "across the cut"],
)
@pytest.mark.parametrize("exchange", EXCHANGES, ids=["claude", "openai"])
def test_a_key_that_a_service_repeats_is_in_no_error_whatever_its_status(
    exchange: Exchange, body: bytes
) -> None:
    errors = [exchange.refused(401, body), exchange.no_answer("a page", body), exchange.malformed("it", body)]

    for error in errors:
        shown = str(error) + repr(vars(error))
        assert KEY not in shown
        assert KEY[:8] not in shown


@pytest.mark.parametrize("name", ["request-id", "x-request-id", "x-amzn-requestid"])
def test_the_id_of_an_exchange_is_found_under_every_name_services_give_it(name: str) -> None:
    headers = {name: "req_9"}

    for exchange in (
        ClaudeExchange("m", headers, PriceTable()),
        OpenAIExchange("The server", "m", headers),
    ):
        assert exchange.request_id == "req_9"
        assert exchange.refused(500, b"").request_id == "req_9"
        assert "req_9" in str(exchange.malformed("a page", b""))
