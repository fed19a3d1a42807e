"""Whatever bytes a service sends, a client makes a typed error or a sound answer of them, and never hangs.

``FUZZ_EXAMPLES=1000000 pytest -n auto tests/fuzz`` tries a million.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.checks import check
from fuzz.codec import CODECS, Codec
from fuzz.damage import BYTE_DAMAGE, EVENT_DAMAGE
from fuzz.example import Example, make_example
from fuzz.prepared import Answer
from maverick.exceptions import AgentError
from maverick.model import Response

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "20000"))
BATCHES = 20
"""Spread over the cores; a batch is a range of seeds."""

pytestmark = pytest.mark.requirement("P3", "P8")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_nothing_that_arrives_does_harm(batch: int) -> None:
    for seed in range(batch, EXAMPLES, BATCHES):
        example = make_example(Random(seed))
        try:
            check(example)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}\n{example}") from error


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
def test_nothing_that_arrives_does_harm_and_what_does_is_made_small(rng: Random) -> None:
    check(make_example(rng))
