"""Those who write to one file from one process wait in a queue: in order, one at a time, and none is forgotten."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from maverick.journal.sqlite.database import WriteLock

LONG = 30.0


def test_the_first_has_the_lock_at_once_and_the_others_in_order() -> None:
    lock = WriteLock()
    first, second, third = lock.request(), lock.request(), lock.request()
    assert [place.done() for place in (first, second, third)] == [True, False, False]

    lock.release()
    assert [place.done() for place in (second, third)] == [True, False]
    lock.release()
    assert third.done()
    lock.release()

    assert lock.request().done()


def test_a_cancelled_request_is_skipped() -> None:
    lock = WriteLock()
    lock.request()
    gone, next_one = lock.request(), lock.request()

    assert gone.cancel()
    lock.release()

    assert next_one.done()
    assert not next_one.cancel()


def test_a_free_lock_is_acquired_at_once() -> None:
    lock = WriteLock()

    lock.acquire_next()
    assert not lock.request().done()


def test_the_writer_thread_is_next() -> None:
    lock = WriteLock()
    lock.request()
    waiting = lock.request()

    with ThreadPoolExecutor(1) as elsewhere:
        jumping = elsewhere.submit(lock.acquire_next)
        while len(lock._waiting) < 2:
            time.sleep(0.001)
        lock.release()

        jumping.result(LONG)
        assert not waiting.done()
        lock.release()
        assert waiting.done()


def test_one_at_a_time_has_the_lock_however_many_want_it() -> None:
    lock, inside, most = WriteLock(), 0, 0

    def write(number: int) -> None:
        nonlocal inside, most
        if number % 3:
            lock.request().result(LONG)
        else:
            lock.acquire_next()
        inside += 1
        most = max(most, inside)
        inside -= 1
        lock.release()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(2_000)))

    assert most == 1
    assert lock.request().done()
