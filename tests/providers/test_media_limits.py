from __future__ import annotations

from collections.abc import Sequence

import pytest

from maverick import Document, Image, Text
from maverick.exceptions import InvalidInputError
from maverick.model import Message, Part
from maverick.providers.media_limits import CLAUDE, OPENAI, MediaLimits, MediaTally
from media_files import pdf, png

SMALL = Image.from_bytes(png(), name="small.png")
WIDE = Image.from_bytes(png(3000, 1), name="wide.png")
HUGE = Image.from_bytes(png(2, 2, says=(8001, 5)), name="huge.png")
HEAVY = Image.from_bytes(png(noise=bytes(8 * 2**20)), name="heavy.png")
HEAVY_TEXT = Document.from_bytes(b"x" * (24 * 2**20), name="heavy.txt")
BOOK = Document.from_bytes(pdf(601), name="book.pdf")

REFUSED: dict[str, tuple[MediaLimits, Sequence[Part], str]] = {
    "side": (CLAUDE, [HUGE], "huge.png: Claude takes images of 8000 pixels a side, and one has 8001"),
    "bytes": (CLAUDE, [HEAVY], r"heavy.png: it is larger than Claude takes, which is 7.5 MB"),
    "document": (CLAUDE, [HEAVY_TEXT], "heavy.txt: it is larger than Claude takes"),
    "pages": (CLAUDE, [BOOK], "book.pdf: Claude takes 600 pages of PDFs in a request, and .* 601"),
    "sum of pages": (CLAUDE, [Document.from_bytes(pdf(301), name="a.pdf")] * 2, "there are 602"),
    "many": (CLAUDE, [SMALL] * 20 + [WIDE], "2000 pixels a side among more than 20 images, and one has 3000"),
    "many, the first": (CLAUDE, [WIDE] + [SMALL] * 20, "among more than 20 images, and one has 3000"),
    "count": (CLAUDE, [SMALL] * 601, "Claude takes 600 images in a request"),
    "sum": (CLAUDE, [Image.from_bytes(png(noise=bytes(7 * 2**20)))] * 4, "all images and documents together"),
    "count of OpenAI": (OPENAI, [SMALL] * 1501, "OpenAI takes 1500 images"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_provider_does_not_take_is_refused_by_name_before_it_is_sent(name: str) -> None:
    limits, parts, said = REFUSED[name]

    with pytest.raises(InvalidInputError, match=said):
        MediaTally(limits).admit(Message.user(["What is it?", *parts]))


@pytest.mark.parametrize(
    ("limits", "parts"),
    [(CLAUDE, [*[SMALL] * 18, WIDE]), (CLAUDE, [SMALL] * 599), (OPENAI, [HUGE, HEAVY, BOOK, *[WIDE] * 100])],
)
def test_what_a_provider_takes_is_sent_as_it_is(limits: MediaLimits, parts: list[Part]) -> None:
    message = Message.user(["What is it?", *parts, Image.from_url("https://example.org/a.png")])

    assert MediaTally(limits).admit(message) == message.parts


def test_what_a_tool_returned_and_a_provider_does_not_take_becomes_a_text_that_says_so() -> None:
    tally = MediaTally(CLAUDE)

    sent = tally.admit(Message.tool_result("call_1", ["Done.", HUGE, SMALL]))

    assert sent == (
        Text("Done."),
        Text(
            "[image: huge.png: left out, Claude takes images of 8000 pixels a side, and one has 8001. "
            "Make it smaller.]"
        ),
        SMALL,
    )


def test_messages_that_come_later_are_counted_with_those_before() -> None:
    tally = MediaTally(CLAUDE)
    tally.admit(Message.user([SMALL] * 600))
    tally.admit(Message.user("And now?"))

    with pytest.raises(InvalidInputError, match="600 images"):
        tally.admit(Message.user([SMALL]))
