"""Those who write to one file from one process take turns: in order, one at a time, and nobody is forgotten."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from maverick.journal.sqlite_turns import Turns

LONG = 30.0


def test_whoever_comes_first_has_the_turn_at_once_and_the_others_in_order() -> None:
    turns = Turns()
    first, second, third = turns.ask(), turns.ask(), turns.ask()
    assert [turn.done() for turn in (first, second, third)] == [True, False, False]

    turns.pass_on()
    assert [turn.done() for turn in (second, third)] == [True, False]
    turns.pass_on()
    assert third.done()
    turns.pass_on()

    assert turns.ask().done()


def test_whoever_no_longer_wants_a_turn_is_left_out() -> None:
    turns = Turns()
    turns.ask()
    gone, next_one = turns.ask(), turns.ask()

    assert gone.cancel()
    turns.pass_on()

    assert next_one.done()
    assert not next_one.cancel()


def test_a_turn_nobody_has_is_had_at_once() -> None:
    turns = Turns()

    turns.jump_in()
    assert not turns.ask().done()


def test_whoever_jumps_in_is_next() -> None:
    turns = Turns()
    turns.ask()
    waiting = turns.ask()

    with ThreadPoolExecutor(1) as elsewhere:
        jumping = elsewhere.submit(turns.jump_in)
        while len(turns._waiting) < 2:
            time.sleep(0.001)
        turns.pass_on()

        jumping.result(LONG)
        assert not waiting.done()
        turns.pass_on()
        assert waiting.done()


def test_one_at_a_time_has_the_turn_however_many_want_it() -> None:
    turns, inside, most = Turns(), 0, 0

    def write(number: int) -> None:
        nonlocal inside, most
        if number % 3:
            turns.ask().result(LONG)
        else:
            turns.jump_in()
        inside += 1
        most = max(most, inside)
        inside -= 1
        turns.pass_on()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(2_000)))

    assert most == 1
    assert turns.ask().done()
