from __future__ import annotations

from email.utils import formatdate

import pytest

from maverick.exceptions import (
    AuthenticationError,
    ContextOverflowError,
    ErrorKind,
    MediaRejectedError,
    ProviderError,
    RateLimitError,
    ServerError,
    ThinkingRejectedError,
)
from maverick.providers.http.errors import (
    ServiceError,
    no_answer,
    read_service_error,
    refused,
    reported,
    retry_after,
    status_error,
)
from maverick.providers.http.exchange import Exchange
from maverick.providers.prices import PriceTable

KEY = "sk-a/very+secret=="


def exchange(**headers: str) -> Exchange:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Exchange("Acme", "its API", "m", sent, PriceTable(), KEY)


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
    made = status_error("Acme", status, ServiceError("It broke.", request_id="r1"), {})
    assert type(made) is error
    assert (made.kind, made.retryable, made.status, made.request_id) == (kind, retryable, status, "r1")
    assert "Acme" in str(made)
    assert "It broke" in str(made)
    assert f"status {status}, request r1" in str(made)


def test_an_account_without_credit_is_told_so_whatever_the_status() -> None:
    words = "Your credit balance is too low to access the API."

    made = status_error("Claude", 400, ServiceError(words, ("invalid_request_error",)), {})

    assert str(made).startswith("Claude refused the request over billing: Your credit balance is too low")
    assert str(made).endswith("Check the account's credit and limits.")


def test_an_overflow_is_an_overflow_whatever_its_status() -> None:
    assert type(status_error("Acme", 418, ServiceError(), {}, too_long=True)) is ContextOverflowError


@pytest.mark.parametrize(
    ("words", "about_earlier_thinking"),
    [
        ("messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to …", True),
        ("messages.5.content.2: Invalid `data` in `redacted_thinking` block", True),
        ("messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant …", True),
        ('"thinking.type.disabled" is not supported for this model.', False),
        ("thinking.block_binding: Extra inputs are not permitted", False),
        ("messages.0.content.0.text: a text about thinking is too odd", False),
    ],
)
def test_a_refusal_of_earlier_thinking_is_told_from_one_of_a_setting(
    words: str, about_earlier_thinking: bool
) -> None:
    made = status_error("Claude", 400, ServiceError(words), {})
    assert type(made) is (ThinkingRejectedError if about_earlier_thinking else ProviderError)
    assert not made.retryable


@pytest.mark.parametrize(
    ("words", "names", "about", "media"),
    [
        ("Could not process image", (), "", "image"),
        ("Could not process PDF", (), "", "document"),
        ("messages.6.content.5.image.source.base64.data: Image does not match …", (), "", "image"),
        ("messages.2.content.0.pdf.source.base64.data: The PDF specified was not valid.", (), "", "document"),
        ("It broke.", ("image_parse_error",), "", "image"),
        ("The image data you provided does not represent a valid image.", (), "", "image"),
        ("It broke.", (), "input[0].content[1].file_data", "document"),
        ("It broke.", ("image_content_policy_violation",), "", ""),
        ("messages.0.content.0.text: an image of the source is too odd", (), "", ""),
    ],
)
def test_a_refusal_of_media_says_whether_it_was_an_image_or_a_document(
    words: str, names: tuple[str, ...], about: str, media: str
) -> None:
    made = status_error("Acme", 400, ServiceError(words, names, about=about), {})
    assert type(made) is (MediaRejectedError if media else ProviderError)
    assert getattr(made, "media", "") == media


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
    ("body", "error"),
    [
        (
            b'{"type":"error","error":{"type":"api_error","message":"m"},"request_id":"r"}',
            ServiceError("m", ("api_error",), request_id="r", is_certain=True),
        ),
        (
            b'{"error":{"message":"m","type":null,"code":"bad_key"}}',
            ServiceError("m", ("bad_key",), is_certain=True),
        ),
        (b'{"error":{"message":"m","code":503}}', ServiceError("m", status=503, is_certain=True)),
        (b'{"error":"model not found"}', ServiceError("model not found", is_certain=True)),
        (b'{"object":"error","message":"m"}', ServiceError("m", is_certain=True)),
        (b'{"type":"throttlingException"}', ServiceError("", ("throttlingException",), is_certain=True)),
        (b'{"message":"m","code":404}', ServiceError("m", status=404)),
        (b'{"type":"message","error":null}', ServiceError("", ("message",))),
        (b'{"detail":"Not Found"}', ServiceError()),
        (b"[1,2]", ServiceError()),
        (b"", ServiceError()),
    ],
)
def test_the_words_of_the_service_are_found_in_any_usual_shape(body: bytes, error: ServiceError) -> None:
    assert read_service_error(body) == error


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"detail":"Not Found"}', '{"detail":"Not Found"}'),
        (b"<html>\n  Bad   Gateway</html>", "<html> Bad Gateway</html>"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_a_body_in_no_usual_shape_is_quoted(body: bytes, shown: str) -> None:
    assert shown in str(refused(exchange(), 502, body))


def test_a_long_body_is_quoted_only_in_part() -> None:
    assert len(exchange().excerpt(b"x" * 100_000)) < 400


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
def test_a_key_that_a_service_repeats_is_in_no_error_whatever_its_status(body: bytes) -> None:
    asked = exchange()
    errors = [refused(asked, 401, body), no_answer(asked, "a page", body), asked.malformed("it", body)]

    for error in errors:
        shown = str(error) + repr(vars(error))
        assert KEY not in shown
        assert KEY[:8] not in shown


@pytest.mark.parametrize("name", ["request_id", "x_request_id", "x_amzn_requestid"])
def test_the_id_of_an_exchange_is_found_under_every_name_services_give_it(name: str) -> None:
    asked = exchange(**{name: "req_9"})

    assert asked.request_id == "req_9"
    assert refused(asked, 500, b"").request_id == "req_9"
    assert "req_9" in str(asked.malformed("a page", b""))


def test_an_error_of_a_name_that_is_not_known_is_a_failure_of_the_service() -> None:
    assert type(reported(exchange(), b'{"error":{"type":"new_error"}}')) is ServerError
    assert reported(exchange(), b'{"type":"message"}') is None
