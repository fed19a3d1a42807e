"""Whatever bytes a service sends, a client makes a typed error or a sound answer of them, and never hangs.

``FUZZ_EXAMPLES=1000000 python -m pytest -n auto tests/fuzz`` tries a million.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.checks import CUT_SHORT, check, outcome_of
from fuzz.codec import CODECS, Codec, Sample
from fuzz.damage import BYTE_DAMAGE, EVENT_DAMAGE
from fuzz.example import make_example, stream_of, undamaged
from maverick.exceptions import MalformedResponseError, StreamingError, TimeoutError
from maverick.model import Response

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "20000"))
BATCHES = 20
"""Spread over the cores; a batch is a range of seeds."""

CPU_SECONDS = 5.0
"""The most an example may take: thousands of times what it does, and far less than a hang."""

pytestmark = pytest.mark.requirement("P3", "P8")

each_codec = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_nothing_that_arrives_does_harm(batch: int) -> None:
    for seed in range(batch, EXAMPLES, BATCHES):
        example = make_example(Random(seed))
        began = time.process_time()
        try:
            check(example)
            assert time.process_time() - began < CPU_SECONDS, "it takes too long"
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}\n{example}") from error


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
def test_what_does_harm_is_made_small(rng: Random) -> None:
    check(make_example(rng))


@settings(max_examples=300)
@given(st.sampled_from(CODECS), st.lists(st.binary(min_size=1), max_size=20))
def test_any_bytes_at_all_do_no_harm(codec: Codec, chunks: list[bytes]) -> None:
    check(stream_of(codec, Sample((), b""), chunks, damages=("anything",)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "index", "delta", "content_block", "message", "usage", "error", "choices"]
            )
            | st.sampled_from(
                ["text", "input", "name", "id", "content", "tool_calls", "function", "finish_reason"]
            )
            | st.text(max_size=3),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(st.sampled_from(CODECS), st.lists(json_values, max_size=5))
def test_any_json_at_all_does_no_harm(codec: Codec, values: list[Any]) -> None:
    events = [f"data: {json.dumps(value)}\n\n".encode() for value in values]
    check(stream_of(codec, Sample((), b""), events, damages=("anything",)))


@each_codec
@pytest.mark.parametrize("seed", range(4))
def test_a_stream_may_be_sliced_at_every_byte(codec: Codec, seed: int) -> None:
    sample = codec.sample(Random(seed))
    whole = b"".join(sample.events)
    original = outcome_of(undamaged(codec, sample, streamed=True))

    assert isinstance(original, Response)
    for place in range(1, len(whole)):
        assert outcome_of(stream_of(codec, sample, [whole[:place], whole[place:]])) == original
    assert outcome_of(stream_of(codec, sample, [bytes([byte]) for byte in whole])) == original


@each_codec
@pytest.mark.parametrize("seed", range(4))
def test_a_stream_that_breaks_off_at_any_byte_is_whole_or_an_error(codec: Codec, seed: int) -> None:
    sample = codec.sample(Random(seed))
    whole = b"".join(sample.events)

    for place in range(1, len(whole)):
        check(stream_of(codec, sample, [whole[:place]], damages=("cut",)))
    outcome = outcome_of(stream_of(codec, sample, [b"".join(sample.events[:2])], damages=("cut",)))
    assert isinstance(outcome, StreamingError)


@each_codec
def test_no_lost_event_makes_a_call_runnable_that_was_cut_off(codec: Codec) -> None:
    for seed in range(200):
        sample = codec.sample(Random(seed))
        original = outcome_of(undamaged(codec, sample, streamed=True))
        assert isinstance(original, Response)
        for lost in range(len(sample.events)):
            events = [*sample.events[:lost], *sample.events[lost + 1 :]]
            outcome = check(stream_of(codec, sample, events, damages=("drop",)))
            if isinstance(outcome, Response) and outcome.tool_calls and original.stop_reason in CUT_SHORT:
                assert outcome.stop_reason in CUT_SHORT, f"seed {seed}, event {lost}"


def test_the_examples_are_bad_enough_to_end_in_every_way() -> None:
    outcomes: Counter[type] = Counter()
    damages: Counter[str] = Counter()
    for seed in range(2_000):
        example = make_example(Random(seed))
        outcomes[type(check(example))] += 1
        damages.update(example.damages)

    assert all(damages[spoil.__name__] > 20 for spoil in (*EVENT_DAMAGE, *BYTE_DAMAGE))
    assert outcomes[Response] > 400
    assert outcomes[MalformedResponseError] > 400
    assert outcomes[StreamingError] > 100
    assert outcomes[TimeoutError] > 20
    assert len(outcomes) >= 8
