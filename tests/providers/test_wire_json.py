from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maverick.exceptions import InvalidInputError
from maverick.providers.http.wire_json import BAD_JSON, decode, decode_object, encode

ANYTHING = msgspec.json.Decoder(dict[str, Any])


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_python_string_can_be_sent(text: str) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert msgspec.json.decode(encode({"text": text})) == {"text": whole}


def test_half_a_character_becomes_the_replacement_character() -> None:
    assert encode(["a\ud83db"]) == '["a\ufffdb"]'.encode()
    assert decode(rb'{"text": "a\ud83db"}', ANYTHING) == {"text": "a\ufffdb"}


def test_two_halves_that_belong_together_become_the_character() -> None:
    assert encode("\ud83c\udf0d") == '"🌍"'.encode()
    assert decode(rb'{"text": "\ud83c\udf0d"}', ANYTHING) == {"text": "🌍"}


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert decode(b'{"text": "a\xffb"}', ANYTHING) == {"text": "a\ufffdb"}


def test_what_has_no_json_is_refused_with_a_reason() -> None:
    with pytest.raises(InvalidInputError, match="cannot be sent as JSON"):
        encode({"tool": object()})
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(InvalidInputError, match="cannot be sent as JSON"):
        encode(circle)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"nope", b"[1]", b'"{}"', b'{"a": NaN}', b"{}{}", b'{"a":' * 5000]
)
def test_what_is_not_a_json_object_is_no_arguments(raw: bytes) -> None:
    assert decode_object(raw) is None
    with pytest.raises(BAD_JSON):
        decode(raw, ANYTHING)


@given(st.binary())
def test_no_bytes_raise_anything_but_the_two_errors(raw: bytes) -> None:
    try:
        decode(raw, ANYTHING)
    except BAD_JSON:
        assert decode_object(raw) is None
