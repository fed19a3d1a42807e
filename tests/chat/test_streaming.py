"""A model's words, before anybody hears them: whole sentences, for people, and nothing a tool would have to know."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat import misbehaviour
from chat.misbehaviour import (
    CLAIMS,
    CODE,
    EMOJI,
    HARMLESS,
    IDS,
    IN_OTHER_WORDS,
    JARGON,
)
from chat.unusual_claims import IN_OTHER_LANGUAGES, UNUSUAL
from maverick.chat.claims import is_claim
from maverick.chat.phrases import RESPONSE_LENGTH
from maverick.chat.streaming import SentenceFilter
from maverick.chat.tables import Task
from maverick.model import Message, Role

FORBIDDEN = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}|\bid\W{0,2}\d|\b(?:Value|Key|Timeout|Operational)Error\b|Traceback|[{}`]"
    r"|\bHTTP\b|\b(?:SQL|JSON|API|null)\b|\bSELECT\b|[\U0001f300-\U0001faff☐✓]|[\x00-\x08\x0b-\x1f]"
)
TASKS = [
    Task(id=number, user_id="ana", title=title)
    for number, title in enumerate(
        (
            *misbehaviour.TITLES,
            "call the dentist",
            "pay the rent",
            "book flights to Rome",
            "email Anna about the budget",
            "greenhouse",
            "taxes",
        ),
        start=1,
    )
]
PIECES = st.sampled_from([piece for family in misbehaviour.ALL for piece in family])
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=60), st.sampled_from(["\n", " ", ". ", "! "]))).map(
    "".join
)


def said(text: str, by: str = "", pieces: int = 0) -> tuple[str, str]:
    """What is said of a text: before its end, and in the end."""
    sent = SentenceFilter(by)
    size = pieces or len(text) or 1
    early = "".join(sent.feed(text[start : start + size]) for start in range(0, len(text), size))
    sent.finish(text)
    return early, sent.text


@pytest.mark.requirement("004-G-FRIENDLY", "004-Q-IDS", "004-Q-JARGON", "004-Q-EMOJI", "004-LIMIT-LENGTH")
@settings(max_examples=60)
@given(TEXTS)
@example("a{b. " * 200)
@example("_" * 5000)
def test_no_text_gets_anything_past_that_is_not_for_people(text: str) -> None:
    _, words = said(text)

    assert len(words) <= RESPONSE_LENGTH
    assert not FORBIDDEN.search(words), words


@pytest.mark.requirement("SERVER-STREAM", "004-G-FRIENDLY")
@settings(max_examples=60)
@given(TEXTS, st.integers(1, 50))
def test_what_is_said_early_stays_and_does_not_depend_on_how_the_text_arrives(text: str, pieces: int) -> None:
    early, words = said(text, pieces=pieces)

    assert words.startswith(early)
    assert words == said(text)[1]


@pytest.mark.requirement("004-Q-GRAMMAR")
@given(st.lists(st.sampled_from([*HARMLESS, *IDS, *JARGON, *CODE]), max_size=8))
def test_sentences_are_kept_whole_or_left_out(sentences: list[str]) -> None:
    _, words = said("\n".join(sentences))

    whole = [sentence for sentence in sentences if sentence in HARMLESS]
    kept = words.removesuffix(" …").split("\n")
    assert kept == whole[: len(kept)] or words == ""
    assert words.endswith("…") or len(kept) == len(whole) or not whole


@pytest.mark.requirement("004-Q-JARGON", "004-Q-IDS")
@pytest.mark.parametrize("text", [*IDS, *JARGON, *CODE])
def test_a_text_in_the_words_of_programs_is_not_said(text: str) -> None:
    assert said(text) == ("", "")
    assert said(f"{HARMLESS[0]}\n{text}\n{HARMLESS[1]}")[1] == f"{HARMLESS[0]}\n{HARMLESS[1]}"


@pytest.mark.requirement("004-Q-JARGON")
def test_technical_words_the_user_chose_are_theirs() -> None:
    answer = "SQL is a language that people ask questions in."

    assert said(answer, by="What is SQL?")[1] == answer
    assert said(answer, by="Hello?")[1] == ""
    assert said("Which ＡＰＩ do you mean?", by="Call the ＡＰＩ people")[1] == "Which ＡＰＩ do you mean?"


@pytest.mark.requirement("004-Q-EMOJI")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello! 👋 How can I help?", "Hello! How can I help?"),
        ("Hello there 🎉🎉! How are you?", "Hello there! How are you?"),
        ("I ❤️ you. Shall we begin?", "Shall we begin?"),
        ("🚀🚀🚀", ""),
        ("Here you go‼️ Enjoy it.", "Here you go! Enjoy it."),
        ("Some ℹ️ for you today. Shall we begin?", "Shall we begin?"),
        ("Nice ™ work. Shall we begin?", "Shall we begin?"),
    ],
)
def test_a_model_has_no_emoji_to_say(text: str, words: str) -> None:
    assert said(text)[1] == words


@pytest.mark.requirement("004-Q-GRAMMAR")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("You may want to read this:\n```\nx = 1\ny = 2\n```\nShall we begin?", "Shall we begin?"),
        ("Dr. No lives on an island, e.g. in Jamaica. People like Jamaica a lot.", None),
        ("He said “Stop. Go.” and left.\n\n\nShe stayed there, alone.", None),
        ("An introduction without anything after it:", ""),
        ("Hello! Sure! What now?", None),
        ("I like it here.\n~~~\nWhat would you like to do?", "I like it here.\nWhat would you like to do?"),
        ("I like it here.\n~~~\nA line of code.\n~~~\nShall we begin?", "I like it here.\nShall we begin?"),
        ("```\n~~~\nA line of code.\n```\nShall we begin?", "Shall we begin?"),
    ],
)
def test_what_is_left_reads_well(text: str, words: str | None) -> None:
    assert said(text)[1] == (re.sub("\n+", "\n", text) if words is None else words)


@pytest.mark.requirement("004-LIMIT-LENGTH")
@pytest.mark.parametrize("text", ["A sentence of some length. " * 100, "word " * 400])
def test_a_reply_has_at_most_about_500_characters_and_says_that_there_was_more(text: str) -> None:
    _, words = said(text)

    assert RESPONSE_LENGTH * 0.8 < len(words) <= RESPONSE_LENGTH
    assert words.endswith("…")


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_not_said_nor_what_comes_after_it(claim: str) -> None:
    sent = SentenceFilter("")
    sent.finish(f"{HARMLESS[0]} Sure! {claim} {HARMLESS[1]}")

    assert sent.claimed
    assert sent.text == HARMLESS[0]


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    "asked", ["delete milk", "what is on my list?", "rename milk to oat milk", "remind me to call mum"]
)
@pytest.mark.parametrize("claim", IN_OTHER_WORDS)
def test_a_request_that_no_tool_has_heard_is_not_said_to_be_done_in_any_words(asked: str, claim: str) -> None:
    sent = SentenceFilter(asked)
    sent.finish(f"{HARMLESS[0]} {claim} Which one do you mean?")

    assert sent.claimed
    assert sent.text.removesuffix(" Which one do you mean?") == HARMLESS[0]


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize(
    "sentence",
    [
        *HARMLESS,
        "I can add tasks to your list, mark them complete, or delete them.",
        "Would you like me to mark it as done?",
        "I haven't changed anything.",
        "I don't know what was meant.",
        "If you like, I could remove it from your list.",
        "Well done!",
        "I'll be here.",
        "Tell me what to add to your list.",
        "That's a great question.",
        "It's 3:30 pm in London.",
        "You are welcome!",
        "I'm sorry, but I don't know that.",
        "I'd love to help.",
        "I only know about tasks.",
        "Hello there!",
        "No problem at all.",
        "Please tell me which one you mean.",
        "Which day is that?",
        "Dogs are loved by many people.",
        "I apologize for the confusion.",
        "You should take a break.",
        "You've got this!",
        "The Pomodoro technique is a way of working.",
        "Enjoy your meeting!",
    ],
)
def test_offers_questions_denials_and_general_statements_are_no_claims(sentence: str) -> None:
    assert not is_claim(sentence)


@pytest.mark.requirement("CHAT-TRUTH")
@pytest.mark.parametrize("claim", [*UNUSUAL, *IN_OTHER_LANGUAGES])
def test_a_claim_in_any_words_is_left_out_or_followed_by_what_is_true(claim: str) -> None:
    for asked in ("hi", "thanks!", "hmm", "do it", "sling milk on the pile", "quita eso"):
        sent = SentenceFilter(asked, (), TASKS)
        sent.finish(f"Sure! {claim}")

        assert sent.disclaimer, asked


def exchanges(name: str) -> Iterator[tuple[str, str, SentenceFilter]]:
    """Messages, replies without a tool call, and what became of the replies."""
    for line in (Path(__file__).parent / "utterances" / f"{name}.jsonl").read_text().splitlines():
        each = json.loads(line)
        titles = [re.sub(r" \(due .*", "", title) for title in each.get("tasks", [])]
        tasks = [Task(id=number, user_id="ana", title=title) for number, title in enumerate(titles, start=1)]
        history = [Message(Role(role), words) for role, words in each.get("history", [])]
        sent = SentenceFilter(each["say"], history, tasks if "tasks" in each else TASKS)
        sent.finish(each["reply"])
        yield each["say"], each["reply"], sent


@pytest.mark.requirement("004-G-FRIENDLY")
@pytest.mark.parametrize(("name", "share"), [("talk", 0.01), ("ordinary_replies", 0.04)])
def test_ordinary_talk_keeps_its_words(
    name: str, share: float, record_property: Callable[[str, object], None]
) -> None:
    said = list(exchanges(name))
    lost = [
        (asked, words, sent.text)
        for asked, words, sent in said
        if sent.text.split() != re.sub("[\U0001f300-\U0001faff\u263a\ufe0f]", "", words).split()
    ]
    record_property(name, f"{len(said)} replies, {len(lost)} lost words")

    assert len(lost) <= share * len(said), lost


@pytest.mark.requirement("CHAT-TRUTH")
def test_no_reply_that_tells_of_tasks_without_a_tool_stands_as_it_is() -> None:
    said = list(exchanges("unbacked_replies"))

    assert len(said) == 750
    assert not [(asked, words) for asked, words, sent in said if sent.text and not sent.disclaimer]


def test_what_another_tool_has_done_may_be_told_but_nothing_of_tasks() -> None:
    assert not is_claim("I've saved the page.", elsewhere=True)
    assert is_claim("I've deleted your task.", elsewhere=True)


@pytest.mark.parametrize("text", EMOJI)
def test_emoji_do_not_break_anything(text: str) -> None:
    assert not re.search("[\U0001f000-\U0001faff]", said(text)[1])


@pytest.mark.parametrize(
    "text", ["thank you " * 400 + "x", "hi " * 1000 + "?!", "1" * 5000 + "x", "well and " * 500]
)
def test_no_message_and_no_reply_takes_long_to_look_at(text: str) -> None:
    for message, words in ((text, "Hello!"), ("hello", text)):
        sent = SentenceFilter(message, (), TASKS)
        sent.finish(words)

        assert len(sent.text) <= RESPONSE_LENGTH
