from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maverick.loop import Limits, TerminateReason
from maverick.loop.limits import Ledger
from maverick.model import Price, Usage

amounts = st.none() | st.integers(0, 50)
limits = st.builds(
    Limits, amounts, st.none() | st.floats(0, 50), amounts, st.none() | st.floats(0, 50), amounts
)


@pytest.mark.requirement("P5")
@given(limits, limits)
def test_the_tighter_of_two_limits_holds_whichever_comes_first(one: Limits, other: Limits) -> None:
    both = one.within(other)

    assert both == other.within(one)
    for name in ("turns", "seconds", "tokens", "cost_usd", "tool_calls"):
        given_limits = [value for value in (getattr(one, name), getattr(other, name)) if value is not None]
        assert getattr(both, name) == (min(given_limits) if given_limits else None)


@pytest.mark.requirement("P5")
@given(
    limit=limits,
    spent=st.tuples(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20)),
    count=st.integers(1, 4),
    reserve=st.integers(0, 20),
)
def test_what_several_children_get_together_is_never_more_than_is_left(
    limit: Limits, spent: tuple[int, int, int], count: int, reserve: int
) -> None:
    turns, tokens, tool_calls = spent
    ledger = Ledger(limit)
    ledger.charge(Usage(tokens, 0, cost_usd=tokens / 10), turns=turns, tool_calls=tool_calls)

    share = ledger.share(count, elapsed=1.0, reserve_tokens=reserve, own_calls=count)

    if limit.turns is not None:
        assert share.turns is not None
        assert share.turns * count <= max(limit.turns - turns, 0)
    if limit.tokens is not None:
        assert share.tokens is not None
        assert share.tokens * count <= max(limit.tokens - tokens - reserve, 0)
    if limit.tool_calls is not None:
        assert share.tool_calls is not None
        assert share.tool_calls * count <= max(limit.tool_calls - tool_calls - count, 0)
    if limit.cost_usd is not None:
        assert share.cost_usd is not None
        assert share.cost_usd * count <= max(limit.cost_usd - tokens / 10, 0) + 1e-9
    if limit.seconds is not None:
        assert share.seconds == max(limit.seconds - 1.0, 0)


@pytest.mark.requirement("P5", "F-LIMITS")
@pytest.mark.parametrize(
    ("limit", "asked", "room"),
    [
        (Limits(), 0, 0),
        (Limits(), 500, 500),
        (Limits(tokens=1000), 0, 700),
        (Limits(tokens=1000), 500, 500),
        (Limits(tokens=1000), 800, 700),
        (Limits(tokens=300), 100, TerminateReason.MAX_TOTAL_TOKENS),
        (Limits(cost_usd=0.01), 0, 600),
        (Limits(cost_usd=0.01), 200, 200),
        (Limits(cost_usd=0.001), 200, TerminateReason.MAX_COST),
        (Limits(tokens=1000, cost_usd=0.01), 0, 600),
    ],
)
def test_an_answer_gets_no_more_room_than_the_limits_leave(limit: Limits, asked: int, room: Any) -> None:
    ledger = Ledger(limit, Price(input=5.0, output=15.0))
    ledger.charge(Usage(80, 20, cost_usd=0.0))

    assert ledger.answer_room(asked, input_tokens=200) == room
