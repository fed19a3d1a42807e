from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maverick.journal.redaction import REDACTED, redact, redact_text
from maverick.model.secret_names import is_secret_name

KEY = "sk-ant-api03-AbCdEf123456"


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"my key is {KEY}, keep it", "my key is [redacted], keep it"),
        ("Authorization: Bearer abc.def-123", "Authorization: [redacted]"),
        ("curl -H 'x-api-key: abc123' https://x", "curl -H 'x-api-key: [redacted]' https://x"),
        ("Cookie: session=abc; theme=dark\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("sent with bearer a1b2c3d4e5", "sent with bearer [redacted]"),
        ('{"user": "ana", "password": "a \\" b"}', '{"user": "ana", "password": "[redacted]"}'),
        (r"{\"api_key\": \"abc\", \"n\": 1}", r"{\"api_key\": \"[redacted]\", \"n\": 1}"),
        ("{'client_secret': 'abc'}", "{'client_secret': '[redacted]'}"),
        ('{"token": "cut off in the mid', '{"token": "[redacted]'),
        ('{"token": "cut off in an escape\\', '{"token": "[redacted]'),
        ("export GITHUB_TOKEN=abc\nPORT=80", "export GITHUB_TOKEN=[redacted]\nPORT=80"),
        ("postgresql://ana:pw@db/x", "postgresql://ana:[redacted]@db/x"),
        ("GET /x?access_token=abc&page=2", "GET /x?access_token=[redacted]&page=2"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "[redacted]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nmore",
            "[redacted]\nmore",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE cut off", "[redacted]"),
    ],
)
def test_a_secret_in_a_text_is_hidden(text: str, hidden: str) -> None:
    assert redact_text(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "the bearer bonds are due",
        "import sklearn  # sk-learn-contrib",
        "task-1234567890",
        "token = parse(line)",
        "def login(password: str, token: str | None = None): ...",
        'headers["Authorization"] = f"Bearer {token}"',
        "Authorization: Bearer $TOKEN",
        "curl -H 'x-api-key: ${KEY}'",
        "API_KEY=$OTHER_KEY make",
        "It used 500 tokens: 400 in, 100 out.",
        "http://localhost:8080/mail/ana@example.com",
        '{"max_tokens": "100", "password": ""}',
    ],
)
def test_prose_and_code_stay_as_they_are(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "name", ["password", "apiKey", "X-Api-Key", "clientSecret", "access_token", "DB PASSWORD"]
)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret_name(name)
    assert redact([{name: {"deep": ["value", 7]}}]) == [{name: REDACTED}]


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokens", "author", "key", "keyboard", "secretary", "tokenizer"]
)
def test_other_names_are_no_secrets(name: str) -> None:
    assert redact({name: "value"}) == {name: "value"}


def test_what_tells_nothing_is_not_hidden() -> None:
    assert redact({"password": None, "token": "", "auth": True}) == {
        "password": None,
        "token": "",
        "auth": True,
    }


FRAGMENTS = (
    st.sampled_from(("Bearer ", "bearer a1b2c3d4", "basic ", "Authorization: ", "x-api-key:", "Cookie: "))
    | st.sampled_from((KEY, "API_KEY=", "&token=", '"password": "', "'token':'", "://u:", REDACTED))
    | st.sampled_from(("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "sk-", "eyJ", "a.b.c"))
    | st.sampled_from("aZ9-;=?@${ \n\\\"'")
)


@given(st.lists(FRAGMENTS, max_size=12).map("".join))
@settings(deadline=None, max_examples=300)
@example("Cookie: -a://u:'';@X&token=b1 a1")
def test_hiding_again_changes_nothing(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


@pytest.mark.parametrize(
    "piece",
    ["password ", '"password": "', "\\", "x://a:", "A_", "Bearer ", "a-", "eyJaaaaaaaaaa.", "?a_", "'"],
)
def test_hiding_takes_time_in_proportion_to_the_text(piece: str) -> None:
    start = time.perf_counter()
    redact_text(piece * (200_000 // len(piece)))
    assert time.perf_counter() - start < 20  # a tenth of a second is usual; quadratic patterns take minutes
