"""What the offline model understands, measured on sentences it was not written against."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from chat.utterance import TODAY, misunderstood, utterances
from maverick.chat.offline import Kind, meaning_of


@pytest.mark.requirement("CHAT-UNDERSTANDING")
def test_there_are_enough_sentences_and_none_that_was_seen_is_counted_as_new() -> None:
    seen, heldout, independent = (
        {(u.before, u.after, u.say.casefold()) for u in utterances(part)}
        for part in ("seen", "heldout", "independent")
    )

    assert len(seen) + len(heldout) + len(independent) >= 150
    assert len(heldout) >= 75
    assert not seen & (heldout | independent)


@pytest.mark.requirement("CHAT-UNDERSTANDING")
@pytest.mark.parametrize(("part", "wanted"), [("seen", 0.95), ("heldout", 0.9), ("independent", 0.9)])
def test_it_understands_what_people_say(
    part: str, wanted: float, record_property: Callable[[str, object], None]
) -> None:
    total, missed = len(utterances(part)), misunderstood(part)
    share = (total - len(missed)) / total
    record_property(f"understood_{part}", f"{total - len(missed)} of {total}")

    assert share >= wanted, missed


def test_a_sentence_longer_than_people_say_is_not_read() -> None:
    assert meaning_of("mark all, " * 1000, "", "", TODAY).kind is Kind.UNSUPPORTED


@pytest.mark.parametrize("said", ["undo" + " last" * 70 + " x", "undo" + " the last one" * 25 + " y"])
def test_no_sentence_takes_long_to_read(said: str) -> None:
    began = time.process_time()

    meaning_of(said, "", "", TODAY)

    assert time.process_time() - began < 5  # the time doubled with each word that was repeated


@pytest.mark.parametrize(
    ("said", "about"),
    [
        ("undo deleting milk", {"about": "milk"}),
        ("oops, undo the completion of milk", {"about": "milk"}),
        ("undo what you just did", {}),
        ("undo it, sorry", {}),
        ("undo both", {}),
    ],
)
def test_what_is_to_be_undone_may_be_named(said: str, about: dict[str, str]) -> None:
    (call,) = meaning_of(said, "", "", TODAY).calls

    assert (call.tool_name, call.arguments) == ("undo_last_change", about)
