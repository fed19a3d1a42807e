from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maverick.exceptions import MalformedResponseError
from maverick.providers.http.sse import ServerSentEvent, SSEDecoder


def decode(*chunks: bytes) -> list[ServerSentEvent]:
    decoder = SSEDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def test_an_event_has_its_name_and_its_data() -> None:
    assert decode(b"event: ping\ndata: {}\n\n") == [ServerSentEvent(b"{}", b"ping")]


def test_an_event_without_a_name_is_just_data() -> None:
    assert decode(b"data: [DONE]\n\n") == [ServerSentEvent(b"[DONE]")]


def test_data_on_several_lines_is_joined_by_newlines() -> None:
    assert decode(b"data: one\ndata: two\ndata:\ndata: four\n\n") == [ServerSentEvent(b"one\ntwo\n\nfour")]


def test_only_the_first_space_after_the_colon_is_not_part_of_the_value() -> None:
    assert decode(b"data:  two spaces\n\ndata:none\n\n") == [
        ServerSentEvent(b" two spaces"),
        ServerSentEvent(b"none"),
    ]


def test_comments_ids_retries_and_unknown_fields_are_ignored() -> None:
    assert decode(b": a comment\nid: 7\nretry: 100\ncolour: red\nevent: x\ndata: y\n\n") == [
        ServerSentEvent(b"y", b"x")
    ]


def test_an_event_without_data_is_no_event() -> None:
    assert decode(b"event: lonely\n\n: comment\n\n\n\ndata: next\n\n") == [ServerSentEvent(b"next")]


def test_a_line_without_a_colon_is_a_field_without_a_value() -> None:
    assert decode(b"data\n\n") == [ServerSentEvent(b"")]


def test_the_last_event_name_counts_and_does_not_carry_over() -> None:
    assert decode(b"event: a\nevent: b\ndata: 1\n\ndata: 2\n\n") == [
        ServerSentEvent(b"1", b"b"),
        ServerSentEvent(b"2"),
    ]


def test_a_byte_order_mark_at_the_beginning_is_skipped_even_when_it_comes_in_pieces() -> None:
    assert decode(b"\xef\xbb", b"\xbfdata: x\n", b"\n") == [ServerSentEvent(b"x")]
    assert decode(b"data: \xef\xbb\xbf\n\n") == [ServerSentEvent(b"\xef\xbb\xbf")]


def test_an_event_that_has_not_ended_is_not_given_out() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: half") == []
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"\n") == [ServerSentEvent(b"half")]


def test_empty_chunks_change_nothing() -> None:
    assert decode(b"", b"data: a\r", b"", b"\n\r", b"", b"\n", b"") == [ServerSentEvent(b"a")]


STREAM = (
    "event: message_start\ndata: {'a': 1}\n\n: keep-alive\n\ndata: no name\n\n"
    "event: long\ndata: first ünïcödé 🌍\ndata: second\n\nid: 3\nevent: last\ndata: end\n\n"
).encode()
EVENTS = decode(STREAM)


@pytest.mark.requirement("002-R5")
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@given(cuts=st.lists(st.integers(0, 2 * len(STREAM)), max_size=40))
def test_events_are_the_same_however_the_bytes_are_sliced(newline: bytes, cuts: list[int]) -> None:
    stream = STREAM.replace(b"\n", newline)
    edges = [0, *sorted(cut % len(stream) for cut in cuts), len(stream)]
    assert len(EVENTS) == 4
    assert decode(*(stream[start:end] for start, end in pairwise(edges))) == EVENTS


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_events_are_the_same_byte_by_byte(newline: bytes) -> None:
    stream = STREAM.replace(b"\n", newline)
    assert decode(*(stream[index : index + 1] for index in range(len(stream)))) == EVENTS


@given(garbage=st.binary(max_size=300), cut=st.integers(0, 300))
def test_no_bytes_at_all_make_it_fail(garbage: bytes, cut: int) -> None:
    assert decode(garbage[:cut], garbage[cut:]) == decode(garbage)


def test_a_long_event_in_tiny_pieces_costs_no_more_than_its_length() -> None:
    data = random.Random(1).randbytes(300_000).replace(b"\n", b"").replace(b"\r", b"")
    decoder = SSEDecoder()
    assert decoder.feed(b"data: ") == []
    assert all(decoder.feed(data[index : index + 3]) == [] for index in range(0, len(data), 3))
    assert decoder.feed(b"\n\n") == [ServerSentEvent(data)]


@pytest.mark.requirement("P8")
def test_an_event_that_never_ends_is_an_error_and_not_a_full_memory() -> None:
    decoder = SSEDecoder(max_event_bytes=1000)
    assert [decoder.feed(b"data: " + b"x" * 94) for _ in range(10)] == [[]] * 10
    with pytest.raises(MalformedResponseError, match="1,000 bytes") as caught:
        decoder.feed(b"x")
    assert caught.value.raw_response.startswith("data: xxx")


def test_the_limit_is_for_one_event_and_not_for_the_stream() -> None:
    decoder = SSEDecoder(max_event_bytes=100)
    assert sum(len(decoder.feed(b"data: " + b"x" * 50 + b"\n\n")) for _ in range(100)) == 100
