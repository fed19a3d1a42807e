"""Whatever a model writes, the user reads plain words: generated jargon, in sentences of people."""

from __future__ import annotations

import json
import re
import string
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maverick.chat.streaming import SentenceFilter

SENTENCES = (
    "{}",
    "Sorry, that ended with {}.",
    "I saw {} there.",
    "It is called {}, I think.",
    "Something went wrong ({}). Please ask me again!",
    "You could look at {} and ask me again.",
    "The answer was “{}” today.",
    "**{}** was what came back.",
    "- {}",
    "First this.\n{}\nThen that, as always.",
    "There were {} of them, as far as I know.",
    "Is {} yours?",
    "{}: that is all I know.",
    "My best guess is {}…",
)
LOWER = st.text(string.ascii_lowercase, min_size=5, max_size=9)
TITLED = LOWER.map(str.capitalize)
DIGITS = st.integers(100, 10**9).map(str)
HEX = st.text("0123456789abcdef", min_size=6, max_size=32).filter(lambda text: not text.isalpha())
UPPER = st.text(string.ascii_uppercase, min_size=4, max_size=12).filter(lambda word: word != "ASAP")
IDS = st.one_of(
    st.uuids().map(str),
    HEX,
    DIGITS.map("#{}".format),
    DIGITS.map("id {}".format),
    DIGITS.map("task {}".format),
    st.text(string.ascii_uppercase + string.digits, min_size=26, max_size=26),
    st.tuples(LOWER, HEX).map("_".join),
    st.tuples(LOWER, DIGITS).map("-".join),
)
NAMES = st.one_of(
    st.lists(LOWER, min_size=2, max_size=4).map("_".join),
    st.tuples(LOWER, TITLED).map("".join),
    st.tuples(TITLED, TITLED).map("".join),
    st.tuples(TITLED, st.sampled_from(["Error", "Exception", "Warning"])).map("".join),
    st.lists(LOWER, min_size=2, max_size=4).map(".".join).filter(lambda name: name not in {"am", "pm"}),
    st.lists(LOWER, min_size=2, max_size=4).map("/".join).map("/{}".format),
    LOWER.map("{}()".format),
    LOWER.map("${}".format),
    LOWER.map("--{}".format),
    LOWER.map("{}=1".format),
    LOWER.map("<{}>".format),
    LOWER.map("`{}`".format),
    LOWER.map("https://{}.test".format),
    UPPER,
)
CODES = st.integers(100, 599).map(str)
STATEMENTS = st.one_of(
    st.tuples(LOWER, LOWER).map(lambda names: "SELECT {} FROM {}".format(*names)),  # noqa: S608 - only said
    st.tuples(LOWER, LOWER).map(lambda names: "select {} from {} where x = 1".format(*names)),  # noqa: S608
    LOWER.map("delete from {}".format),
    LOWER.map("update {} set done".format),
    st.dictionaries(LOWER, st.one_of(st.none(), st.integers(), LOWER), min_size=1, max_size=3).map(
        lambda value: json.dumps(value, indent=2)
    ),
    st.lists(st.integers(), min_size=2, max_size=4).map(json.dumps),
    st.lists(LOWER, min_size=1, max_size=3).map(lambda lines: "```\n" + "\n".join(lines) + "\n```"),
    st.tuples(LOWER, st.integers(1, 99)).map(lambda each: '  File "{}.py", line {}, in run'.format(*each)),
    st.tuples(LOWER, LOWER).map(lambda each: "{} = {}".format(*each)),
)


def said(text: str) -> str:
    """What the user reads of it."""
    words = SentenceFilter("")
    words.finish(text)
    return words.text


@pytest.mark.requirement("004-Q-JARGON", "004-Q-IDS", "004-G-FRIENDLY")
@settings(max_examples=300)
@given(st.sampled_from(SENTENCES), st.one_of(IDS, NAMES, CODES, STATEMENTS))
@example("I got {} back", "401")
@example("There were {} of them, as far as I know.", "503")
@example("{} tasks are there", "task 7")
def test_no_jargon_gets_to_the_user_whatever_it_is_called(sentence: str, jargon: str) -> None:
    words = said(sentence.format(jargon))

    for piece in jargon.strip("`\n").split("\n"):
        assert piece.strip() not in words or not piece.strip(), words


@pytest.mark.requirement("004-Q-JARGON", "004-Q-EMOJI", "004-Q-GRAMMAR")
@settings(max_examples=300)
@given(st.lists(st.one_of(st.text(max_size=40), NAMES, CODES, IDS, st.sampled_from(SENTENCES))).map(" ".join))
def test_any_text_is_told_in_letters_and_the_marks_of_sentences(text: str) -> None:
    words = unicodedata.normalize("NFKC", said(text))

    signs = {each for each in words if not each.isalnum() and not unicodedata.category(each).startswith("M")}
    strange = {each for each in signs if unicodedata.category(each)[0] in "SC"} - set("\n$€£")
    assert not strange | signs & set("{}[]<>=|\\^~#@_*`")
    for word in re.findall(r"\S+", words):
        assert not re.search(r"[a-z][A-Z]|[A-Z]{5}|\d[a-z]{3}\d|\d{5}", word), word


@pytest.mark.requirement("004-Q-GRAMMAR")
@pytest.mark.parametrize(
    "text",
    [
        "Work on it for 25 minutes, then take a 5-minute break.",
        "Most adults need 7–9 hours of sleep.",
        "It's 3:30 pm in London, or 11 a.m. somewhere else.",
        "You could do it on March 5th, on 14 June 1999 or by the end of 2026.",
        "That's a great question — I'd start with the report.",
        'Try saying "buy milk" or "what is due?"!',
        "A year has 365 days, and 10% of that is about $20 a day.",
        "Do you mean Anna O'Brien or Jean-Luc, who has the T-shirts & mugs?",
        "Gern geschehen! Möchtest du noch etwas?",
        "¡Claro! ¿Qué necesitas?",
        "没问题，你想做什么？",
        "अच्छा विचार है।",
        "- the first thing\n- the second thing",
        "You might want to watch YouTube on TV.",
        "6 times 7 is 42, and it's 5 o'clock.",
    ],
)
def test_what_people_say_is_said(text: str) -> None:
    assert said(text) == text


@pytest.mark.requirement("004-Q-GRAMMAR")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("**Tip:** start with the *hardest* thing.", "Tip: start with the hardest thing."),
        ("## Good morning to you\n* sleep well today", "Good morning to you\n- sleep well today"),
        ("> He who rests grows strong.", "He who rests grows strong."),
    ],
)
def test_the_marks_of_markdown_are_not_read_out(text: str, words: str) -> None:
    assert said(text) == words


def in_talk(text: str) -> str:
    """What is left of a reply to somebody who wants nothing of their list."""
    words = SentenceFilter("tell me about it, please")
    words.finish(text)
    return words.text


@pytest.mark.requirement("004-Q-JARGON")
@pytest.mark.parametrize(
    "text",
    [
        "It returned 200 OK.",
        "A 429 stopped me.",
        "It says 403 Forbidden.",
        "import os",
        "It was None.",
        "The mutex was held.",
        "The transaction rolled back.",
        "I invoked the tool.",
        "The argument was invalid.",
        "I would left join both tables.",
        "Your ticket 9931 is open.",
        "Its key is 81284.",
        "It ended with SIGKILL.",
    ],
)
def test_what_programs_say_is_not_for_people_in_talk_either(text: str) -> None:
    assert in_talk(text) == ""


@pytest.mark.requirement("004-G-FRIENDLY")
@pytest.mark.parametrize(
    "text",
    [
        "It has 400 mg of caffeine, and 3 sugars.",
        "About 450 people live there.",
        "Please call 911, 999 or 112 now.",
        "Mt. Fuji is 3,776 m high.",
        "That is none of my business.",
        "Drive at 60 mph for 2 hours; that is about 193 km.",
        "The pitch is 105 × 68 m, which makes 7,140 m².",
        "An LED lamp of 9 W is as bright as one of 60.",
    ],
)
def test_numbers_units_and_names_are_for_people(text: str) -> None:
    assert in_talk(text) == text
