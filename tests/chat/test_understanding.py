"""What the offline model understands, measured on sentences it was not written against."""

from __future__ import annotations

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
