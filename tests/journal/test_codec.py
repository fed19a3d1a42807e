"""Every entry comes back as it was, or is refused with a typed error; nothing is changed in silence."""

from __future__ import annotations

from math import inf, nan
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.entries import ENTRIES, FIELDS, entries, error_classes, errors_of, facts_of
from maverick.exceptions import (
    AgentError,
    ContextOverflowError,
    JournalError,
    RateLimitError,
    StreamingError,
    ToolError,
)
from maverick.journal.codec import VERSION, decode_entry, encode_entry
from maverick.loop.entries import Edited, Entry, ModelFailed, ModelReplied, RunStarted, ToolFinished
from maverick.loop.limits import Limits
from maverick.loop.result import ToolOutcome
from maverick.model import Message, ModelInfo, Response, ToolCall


def reply_with(arguments: Any) -> ModelReplied:
    return ModelReplied(at=1.0, response=Response([ToolCall("c", "look", arguments)]))


def read_back(error: AgentError) -> AgentError:
    decoded = decode_entry(encode_entry(ModelFailed(at=1.0, error=error)), VERSION)
    assert isinstance(decoded, ModelFailed)
    return decoded.error


def test_there_is_a_strategy_for_every_kind_of_entry() -> None:
    assert set(ENTRIES) == set(get_args(Entry))


@pytest.mark.requirement("003-OQ3")
@given(entry=entries)
def test_any_entry_comes_back_as_it_was(entry: Entry) -> None:
    payload = encode_entry(entry)

    assert facts_of(decode_entry(payload, VERSION)) == facts_of(entry)
    assert b"\n" not in payload


@pytest.mark.parametrize("kind", list(error_classes()))
def test_any_error_comes_back_as_what_it_was_with_its_fields(kind: type[AgentError]) -> None:
    @settings(max_examples=20)
    @given(error=errors_of(kind))
    def check(error: AgentError) -> None:
        again = read_back(error)

        assert type(again) is kind
        assert isinstance(again, Exception)
        assert (str(again), again.kind, again.retryable) == (str(error), error.kind, error.retryable)
        assert vars(again) == vars(error)

    check()


def test_the_strategies_know_every_field_an_error_has() -> None:
    own = {"message", "kind", "retryable"}
    fields = {name for kind in error_classes() for name in vars(kind("It failed."))} - own

    assert fields == FIELDS.keys()


def test_an_error_of_a_class_of_ones_own_comes_back_as_what_it_is_to_the_loop() -> None:
    class TooLongError(ContextOverflowError):
        """A client's own."""

    class ThrottledError(RateLimitError):
        """Another client's own."""

    assert type(read_back(TooLongError("Too long.", status=400))) is ContextOverflowError
    again = read_back(ThrottledError("Slow down.", retry_after=3.0))
    assert isinstance(again, RateLimitError)
    assert again.retry_after == 3.0


def test_a_field_without_json_form_comes_back_in_words() -> None:
    class Fragment:
        def __str__(self) -> str:
            return "half a message"

    again = read_back(StreamingError("It broke.", partial_messages=[Message.user("hi"), {"a": 1}]))
    assert isinstance(again, StreamingError)
    assert again.partial_messages[0]["parts"][0]["text"] == "hi"
    assert again.partial_messages[1] == {"a": 1}

    worded = read_back(ToolError("It failed.", tool_name=Fragment()))
    assert isinstance(worded, ToolError)
    assert worded.tool_name == "half a message"


@pytest.mark.parametrize("arguments", [{"n": nan}, {"n": [1, {"m": inf}]}, {"n": -inf}])
def test_numbers_that_are_not_json_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(JournalError, match="not a number of JSON"):
        encode_entry(reply_with(arguments))
    start = RunStarted(
        at=1.0,
        run_id="r",
        trace_id="t",
        agent=("a",),
        system="",
        messages=(Message.assistant([ToolCall("c", "look", arguments)]),),
        head=0,
        limits=Limits(),
        info=ModelInfo(),
    )
    with pytest.raises(JournalError, match="not a number of JSON"):
        encode_entry(start)


@pytest.mark.parametrize(
    "value", [object(), lambda: None, {1: object()}, "\ud83e\udd8a", ["\ud800", object()]]
)
def test_a_value_without_json_form_is_a_typed_error(value: object) -> None:
    with pytest.raises(JournalError, match="cannot be stored"):
        encode_entry(reply_with({"x": value}))


def test_a_value_nested_too_deep_is_a_typed_error() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(JournalError, match="cannot be stored"):
        encode_entry(reply_with({"x": deep}))


@pytest.mark.requirement("P10")
@pytest.mark.parametrize("version", [VERSION + 1, 99])
def test_a_newer_format_is_refused_by_its_number(version: int) -> None:
    with pytest.raises(JournalError, match=f"format {version}"):
        decode_entry(encode_entry(Edited(at=1.0, content="hi")), version)


@given(payload=st.binary() | st.sampled_from([b"null", b"[]", b"{}", b'{"type":"Edited"}', b"[" * 100_000]))
def test_what_is_no_entry_is_a_typed_error(payload: bytes) -> None:
    with pytest.raises(JournalError, match="damaged"):
        decode_entry(payload, VERSION)


@given(entry=entries, place=st.integers(0), byte=st.integers(0, 255))
def test_a_damaged_byte_is_a_typed_error_or_another_entry(entry: Entry, place: int, byte: int) -> None:
    payload = bytearray(encode_entry(entry))
    payload[place % len(payload)] = byte

    try:
        decoded = decode_entry(bytes(payload), VERSION)
    except JournalError:
        return
    assert type(decoded) in ENTRIES


def test_an_error_without_its_fields_is_a_typed_error() -> None:
    with pytest.raises(JournalError, match="damaged"):
        decode_entry(b'{"type":"ModelFailed","at":1.0,"error":{"message":"hm"}}', VERSION)


def test_what_an_unknown_error_was_is_still_told() -> None:
    payload = (
        b'{"type":"ModelFailed","at":1.0,"error":{"type":"NewError","message":"hm","kind":"tool",'
        b'"retryable":true,"details":{"n":1}}}'
    )

    entry = decode_entry(payload, VERSION)

    assert isinstance(entry, ModelFailed)
    assert type(entry.error) is AgentError
    assert (str(entry.error), entry.error.kind, entry.error.retryable) == ("hm", "tool", True)


def test_a_small_entry_is_a_small_payload() -> None:
    finished = ToolFinished(at=1.5, index=0, outcome=ToolOutcome.FINISHED, content="ok")

    assert encode_entry(finished) == (
        b'{"type":"ToolFinished","at":1.5,"index":0,"outcome":"finished","content":"ok"}'
    )
