from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from maverick.exceptions import ToolError
from maverick.tools.rendering import cap, render


class Pair(BaseModel):
    left: int
    right: str


@dataclasses.dataclass
class Point:
    x: float


@pytest.mark.requirement("F-TOOL-OUTPUT")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        ("", ""),
        (None, "Done."),
        (7, "7"),
        (True, "true"),
        (1.5, "1.5"),
        (float("inf"), "Infinity"),
        (b"caf\xc3\xa9", "café"),
        (["a", 1], '["a",1]'),
        ({"a": {"b": None}}, '{"a":{"b":null}}'),
        (Pair(left=1, right="r"), '{"left":1,"right":"r"}'),
        (Point(2.0), '{"x":2.0}'),
        (datetime(2026, 11, 15, tzinfo=UTC), '"2026-11-15T00:00:00Z"'),
    ],
)
async def test_text_stays_text_and_everything_else_becomes_json(value: Any, text: str) -> None:
    assert await render(value, 1000) == text


@pytest.mark.parametrize("value", [object(), {"a": object()}, lambda: None])
async def test_what_has_no_text_form_is_an_error_that_says_so(value: Any) -> None:
    with pytest.raises(ToolError, match="Return a string or JSON values"):
        await render(value, 1000)


async def test_a_value_that_contains_itself_is_an_error_and_not_an_endless_loop() -> None:
    circle: list[Any] = []
    circle.append(circle)

    with pytest.raises(ToolError):
        await render(circle, 1000)


@pytest.mark.requirement("F-TOOL-OUTPUT")
@given(st.text(alphabet="ab\n", max_size=50), st.integers(1, 60))
def test_a_cap_keeps_the_beginning_and_tells_how_much_is_missing(text: str, limit: int) -> None:
    capped = cap(text, limit)

    if len(text) <= limit:
        assert capped == text
    else:
        assert capped.startswith(text[:limit])
        assert f"{len(text) - limit} characters" in capped


@pytest.mark.requirement("F-TOOL-OUTPUT")
async def test_an_endless_stream_is_read_no_further_than_needed_and_closed() -> None:
    made, closed = 0, False

    async def endless() -> AsyncIterator[str]:
        nonlocal made, closed
        try:
            while made < 1_000:  # endless enough, and a failure that ends
                made += 1
                yield "x" * 10
        finally:
            closed = True

    text = await render(endless(), 95)

    assert text.startswith("x" * 95 + "\n")
    assert "not read" in text
    assert (made, closed) == (10, True)


@pytest.mark.requirement("F-TOOL-OUTPUT")
async def test_a_stream_of_endless_nothing_ends_too() -> None:
    made = 0

    async def nothing() -> AsyncIterator[str]:
        nonlocal made
        while made < 100_000:
            made += 1
            yield ""

    await render(nothing(), 100)

    assert made < 1_000


async def test_a_stream_that_fits_is_joined() -> None:
    async def pieces() -> AsyncIterator[Any]:
        yield "a"
        yield 1
        yield {"b": 2}

    assert await render(pieces(), 100) == 'a1{"b":2}'
