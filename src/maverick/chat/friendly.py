"""Answers as people want them: short, without ids and jargon, and never the words of a program that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from maverick.chat import phrases
from maverick.chat.result import ToolCallRecord
from maverick.loop import TerminateReason

_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_ID = re.compile(
    rf"\s*[(\[]?\b(?:(?:task|user|conversation)[ _-]?)?id\b\s*(?:is|[:=#])?\s*#?(?:\d+|{_UUID})[)\]]?|\s*[(\[]?\b{_UUID}\b[)\]]?",
    re.IGNORECASE,
)
_JARGON = re.compile(
    r"\bTraceback\b|\b\w*(?:Exception|Error)\b:|\b(?:null|NoneType|undefined|stack trace|SQL|JSON|HTTP \d{3}|API|database|"
    r"idempoten\w*|user_id|\w+_task|list_tasks|MCP|backend|server error|tool call)\b",
    re.IGNORECASE,
)
_EMOJI = re.compile(r" ?[\U0001F300-\U0001FAFF\u2600-\u2605\u2614-\u27BF\uFE0F](?<![☐☑✓✔])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")

_USERS_OWN = frozenset(("title", "description", "task", "message", "options"))
_LIMITS = frozenset(
    (
        TerminateReason.MAX_TOOL_CALLS,
        TerminateReason.MAX_TURNS,
        TerminateReason.MAX_TOTAL_TOKENS,
        TerminateReason.MAX_COST,
    )
)


def explain(reason: TerminateReason) -> str:
    """Why there is no answer, in words for the user."""
    if reason in _LIMITS:
        return phrases.TOO_MUCH
    if reason is TerminateReason.ABORTED:
        return phrases.STOPPED
    return phrases.TROUBLE


def tell_unfinished(calls: Sequence[ToolCallRecord], said: str) -> str:
    """What was done before the time was up, in words for the user.

    Args:
        calls: The tool calls that were made until then.
        said: What the user said.
    """
    if not calls:
        return phrases.TROUBLE
    done = _messages([call for call in calls if call.result.get("success")])
    return polish("\n".join((phrases.OUT_OF_TIME, *done)), calls, said)


def polish(text: str, calls: Sequence[ToolCallRecord], said: str) -> str:
    """A model's answer as the user may read it.

    Ids are left out and the answer is kept short. An answer in the words of programs, or none at all, is replaced by
    what the tools said, which is written for people. Words the user used themselves, or that stand in their tasks, are
    theirs and stay.

    Args:
        text: The model's answer.
        calls: The tool calls it made.
        said: What the user said.
    """
    theirs = " ".join((said, *_of_the_user([(call.parameters, call.result) for call in calls]))).casefold()
    foreign = [found for found in _JARGON.findall(text) if found.casefold() not in theirs]
    if foreign or not text.strip():
        text = "\n".join(_messages(calls)) or phrases.TROUBLE
    without_ids = _ID.sub(lambda found: found[0] if found[0].strip().casefold() in theirs else "", text)
    return _shortened(_calm(without_ids, calls).strip())


def _of_the_user(value: object, name: str = "") -> Iterator[str]:
    """The texts among the values of tool calls that a user wrote, or that were written for one."""
    if isinstance(value, str) and name in _USERS_OWN:
        yield value
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _of_the_user(entry, key)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _of_the_user(entry, name)


def _messages(calls: Sequence[ToolCallRecord]) -> list[str]:
    answers = [call.result.get("data" if call.result.get("success") else "error") for call in calls]
    return [answer["message"] for answer in answers if isinstance(answer, dict) and "message" in answer]


def _calm(text: str, calls: Sequence[ToolCallRecord]) -> str:
    """One emoji at most, and only when something was done."""
    first = _EMOJI.search(text)
    if first is None:
        return text
    keep = bool(calls) and all(call.result.get("success") for call in calls)
    end = first.end() if keep else first.start()
    return text[:end] + _EMOJI.sub("", text[end:])


def _shortened(text: str) -> str:
    if len(text) <= phrases.RESPONSE_LENGTH:
        return text
    room = text[: phrases.RESPONSE_LENGTH - 1]
    ends = [found.start() for found in _SENTENCE_END.finditer(room)]
    cut = ends[-1] if ends and ends[-1] > phrases.RESPONSE_LENGTH // 2 else room.rfind(" ")
    return f"{room[: cut if cut > 0 else len(room)].rstrip()}…"
