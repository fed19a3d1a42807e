from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

from maverick.model import History, Message

messages = st.integers(0, 9).map(lambda number: Message.user(f"message {number}"))
bounds = st.none() | st.integers(-12, 12)


class Views(RuleBasedStateMachine):
    """Histories extended in any order, each beside the tuple it should equal."""

    views: Bundle[Any] = Bundle("views")

    @rule(target=views, start=st.lists(messages, max_size=4))
    def begin(self, start: list[Message]) -> tuple[History, tuple[Message, ...]]:
        return History(start), tuple(start)

    @rule(target=views, view=views, more=st.lists(messages, max_size=3))
    def extend(self, view: Any, more: list[Message]) -> tuple[History, tuple[Message, ...]]:
        history, expected = view
        return history.extended(*more), (*expected, *more)

    @rule(view=views, start=bounds, stop=bounds, stride=st.none() | st.sampled_from([-3, -1, 1, 2]))
    def slice_like_a_tuple(self, view: Any, start: int, stop: int, stride: int) -> None:
        history, expected = view
        assert history[start:stop:stride] == expected[start:stop:stride]

    @rule(view=views, index=st.integers(-12, 12), wanted=messages)
    def read_like_a_tuple(self, view: Any, index: int, wanted: Message) -> None:
        history, expected = view
        assert len(history) == len(expected)
        assert tuple(history) == expected
        assert tuple(reversed(history)) == expected[::-1]
        assert history == expected
        assert expected == history
        assert history == list(expected)
        assert hash(history) == hash(expected)
        assert (wanted in history) == (wanted in expected)
        assert history.count(wanted) == expected.count(wanted)
        if -len(expected) <= index < len(expected):
            assert history[index] == expected[index]
        else:
            with pytest.raises(IndexError):
                history[index]


TestViews = Views.TestCase
TestViews.settings = settings(max_examples=40, stateful_step_count=15)


@pytest.mark.requirement("F-HISTORY")
@given(st.lists(messages), st.lists(messages), st.lists(messages))
def test_no_view_ever_changes_whatever_is_made_of_it(
    start: list[Message], one: list[Message], other: list[Message]
) -> None:
    base = History(start)
    left, right = base.extended(*one), base.extended(*other)

    assert tuple(base) == tuple(start)
    assert tuple(left) == (*start, *one)
    assert tuple(right) == (*start, *other)


@pytest.mark.requirement("F-HISTORY")
def test_extending_the_newest_view_shares_what_is_there_and_a_fork_copies_it() -> None:
    base = History([Message.user("one")])
    base.derived["wire"] = "kept"

    newest = base.extended(Message.user("two"))
    fork = base.extended(Message.user("other two"))

    assert newest.derived is base.derived
    assert fork.derived is not base.derived
    assert fork.derived == {}


@pytest.mark.requirement("F-HISTORY")
def test_extending_touches_none_of_the_messages_that_are_there() -> None:
    class Sealed(list[Message]):
        """A list that can grow, but not be walked through."""

        def __iter__(self) -> Any:
            raise AssertionError("extending a history walked through it")

    history = History([Message.user("one")])
    history._log.messages = Sealed(history._log.messages)

    extended = history.extended(Message.user("two")).extended(Message.user("three"))

    assert len(extended) == 3


def test_a_history_is_taken_from_any_iterable_and_does_not_follow_it() -> None:
    source = [Message.user("one")]
    history = History(source)
    source.append(Message.user("two"))

    assert len(history) == 1
    assert list(History(iter([Message.user("one")]))) == list(history)


def test_a_history_equals_no_text_and_no_number() -> None:
    assert History() != ""
    assert History() != b""
    assert History() != 0
    assert repr(History([])) == "History([])"
