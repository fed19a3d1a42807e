"""What the offline model understands, measured on sentences it was not written against."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chat.utterance import misunderstood, utterances


@pytest.mark.requirement("CHAT-UNDERSTANDING")
def test_there_are_enough_sentences_and_no_sentence_is_in_both_parts() -> None:
    seen, heldout = (
        {(u.before, u.after, u.say.casefold()) for u in utterances(part)} for part in ("seen", "heldout")
    )

    assert len(seen) + len(heldout) >= 150
    assert len(heldout) >= 75
    assert not seen & heldout


@pytest.mark.requirement("CHAT-UNDERSTANDING")
@pytest.mark.parametrize(("part", "wanted"), [("seen", 1.0), ("heldout", 0.9)])
def test_it_understands_what_people_say(
    part: str, wanted: float, record_property: Callable[[str, object], None]
) -> None:
    total, missed = len(utterances(part)), misunderstood(part)
    share = (total - len(missed)) / total
    record_property(f"understood_{part}", f"{total - len(missed)} of {total}")

    assert share >= wanted, missed
