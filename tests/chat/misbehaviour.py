"""Models that do not do as they are told, what they say, and whether a reply obeys the contract all the same.

What is looked for here is written down without the code that is tested: other patterns, from the contract alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from chat.unusual_claims import IN_OTHER_LANGUAGES, UNUSUAL
from maverick.chat import AgentResult
from maverick.chat.tables import Task
from maverick.exceptions import NetworkError, StreamingError
from maverick.model import ToolCall
from maverick.testing import call, calls, fail, reply

TITLES = ("buy milk", "call mum", "write the report", "water the plants")

HARMLESS = (
    "Hello! How can I help you today?",
    "What would you like to call it?",
    "The weather is nice, isn't it?",
    "I like the way you plan your week.",
    "Paris is the capital of France.",
    "You are very kind.",
    "Which of them do you mean?",
    "Mondays are hard, e.g. in winter.",
    "Shall we begin?",
    "Our library took back 520 books, and returned 41 of them.",
    "The key to a good week is sleep.",
    "The key 3 things to remember are sleep, food and rest.",
    "Rest is key; 8 hours of sleep do most people good.",
    "Start with the key: 20 minutes of rest each day.",
    "There are a record 5 days of sunshine ahead.",
    "Chess got 14 centuries of history in Europe.",
)
IDS = (
    "The task (ID: 123) is important.",
    "See task_id=42 for more.",
    "Its id is 7f3a9c21d4e8.",
    "That is task #17.",
    "Look at 3f2504e0-4f89-11d3-9a0c-0305e82c3301 for details.",
    "The conversation id is 99.",
    "Task 12 looks important.",
    "Task no. 7 is next.",
    "The record 1234 is yours.",
    "Item 8812 is the one.",
    "It has the identifier abc-123.",
    "Its key is 7f3e.",
    "The key: 42 in the table.",
    "Entry no. 5 is what you mean.",
    "Task number seven is the one.",
    "task forty-two (its key) is the one",
    "ID42 is what you mean.",
    "The i\u200bd is 42.",
    "The ｉｄ is ４２.",
)
JARGON = (
    "sqlalchemy.exc.OperationalError: database is locked",
    'Traceback (most recent call last):\n  File "x.py", line 3, in run\n    raise ValueError(3)\nValueError: 3',
    "HTTP 500 Internal Server Error.",
    "The API returned status code 429.",
    "A NullPointerException was thrown.",
    "The value is null.",
    "I used the add_task tool for that.",
    "There was a TimeoutError in the backend.",
    "404 Not Found, sorry.",
    "The request failed with 500.",
    "I got a 503 back.",
    "Forbidden (403).",
    "An OSError came up.",
    "StopIteration came up.",
    "It says ECONNREFUSED.",
    "Segmentation fault, sorry.",
    "Unique constraint failed.",
    "Permission denied.",
    "Division by zero.",
    "Invalid argument.",
    "The token expired.",
    "The tool failed with code five.",
    "Key: milk; value: true",
)
CODE = (
    '{"success": true, "data": {"title": "x"}}',
    '{\n  "title": "buy milk",\n  "tags": [\n    "a",\n    "b"\n  ]\n}',
    "```python\nprint('hello')\nx = 1\n```",
    "SELECT * FROM tasks WHERE user = 3;",
    "select *\nfrom tasks\nwhere id = 5;",
    "Use `list` for that.",
    "<b>Hello</b> there.",
    "x = foo(); return [1, 2, 3];",
    "DROP TABLE tasks;",
    "select title from tasks",
    "~~~\nhello\n~~~",
    'print("hello")',
    "x = 1",
    "It is in $HOME.",
    "&lt;b&gt;",
)
EMOJI = (
    "Great job 🎉🎉🎉!",
    "🚀🚀🚀",
    "Hello 👋",
    "I ❤️ you.",
    "Sorry 😢😭, no.",
    "⭐ Wow ⭐",
    "👩‍👩‍👧 family 🇫🇷",
)
CLAIMS = (
    "I've deleted 'buy milk'.",
    "I've removed 'buy milk' from your tasks.",
    "Done!",
    "Got it! Added 'fly to the moon' to your list. Anything else?",
    "Great! I've marked 'call mum' as complete.",
    "Updated! 'call mum' now has high priority.",
    "All your tasks have been deleted.",
    "Your list is empty now.",
    "You have 17 tasks.",
    "1. ☐ fly to the moon\n2. ✓ buy milk",
    "'buy milk' is gone.",
    "I'll delete it right away.",
    "Let me add that for you.",
    "The task was successfully created.",
    "Consider it done.",
    "Do you really want to delete 'call mum'? Reply 'yes delete' to confirm.",
    "That's a big action. Confirm with 'yes delete all'.",
    "Everything is all set.",
    "Deleted it, okay?",
    "Removed.",
)
IN_OTHER_WORDS = (
    "The milk task no longer exists.",
    "Milk is off the list.",
    "That one's history.",
    "Poof, it is away.",
    "Your milk reminder lives on your list now.",
    "There, that should do it.",
    "Job done.",
    "Mission accomplished!",
    "It's as good as done.",
    "You won't see it any more.",
    "I took it off.",
    "I took the liberty of tidying up your list.",
    "I made it high priority.",
    "I made a note of that.",
    "I wrote that down for you.",
    "It is on your list.",
    "It's on there.",
    "You now have four things to do.",
    "Nothing is left on your list.",
    "The list is clean.",
    "The report is now urgent.",
    "I got rid of it.",
    "I threw it out.",
    "I put milk on your list.",
    "I set the date to Friday.",
    "Milk will be waiting on your list.",
    "Your dentist appointment is at five.",
    "The dentist is due tomorrow.",
    "Your next task is the report.",
    "You still need to buy milk.",
    "Only the report remains.",
    "I see three tasks.",
    "I see you have to call mum.",
    "Today you should call mum and buy milk.",
    "Everything has been taken off.",
    "No tasks remain.",
    "Both are complete.",
    "All four of them are out of the way.",
    "It has been a pleasure to remove it.",
    "I ticked it.",
    "Ticked!",
    "Check!",
    "Sorted.",
    "Scratch that one.",
    "One fewer thing to worry about!",
    "That task is yours no more.",
    "We're done here.",
    "It went through.",
    "The deletion worked.",
    "The change is in.",
    "Your request has been honoured.",
    "As requested, milk is out.",
    "It will not bother you again.",
    "I just did that.",
    "I did it.",
    "I did what you asked.",
    "Okay, did that.",
    "Yes, milk is on it.",
    "Milk: done.",
    "Milk is bought.",
    "I have moved things around.",
    "Rescheduled for Friday.",
    "Friday it is.",
    "It is due on Friday from now on.",
    "Noted.",
    "Noted, thanks!",
    "Reminder set.",
    "Reminder created for Friday.",
    "You'll be reminded on Friday.",
    "I will remind you on Friday.",
    "The priority went up.",
)
"""Claims without the words that claims have."""
LONG = ("This is a sentence that goes on. " * 40, "word " * 300, "x" * 2000)
ODD = ("", "   ", "\n\n\n", "…", "?", "\x1b[31mred\x1b[0m", "\u202eabc", "\ud800", "'", '"', "{", "```")
ALL = (HARMLESS, IDS, JARGON, CODE, EMOJI, CLAIMS, IN_OTHER_WORDS, UNUSUAL, IN_OTHER_LANGUAGES, LONG, ODD)

SAID = ("hello", "delete milk", "yes delete", "add fly to the moon", "show my list", "yes", "yes delete all")

UNSEEN = "(Your list was not read or changed.)"
"""Ends a reply that no tool stands behind."""
NOTHING_DONE = f"Could you provide more details about what you would like me to do? {UNSEEN}"
"""Is told in place of a claim that no tool stands behind."""

_NEVER = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}|\b(?:task|conversation)?[ _]?id\b\W{0,2}(?:is )?\w*\d|#\d|task_|\bTask \d"
    r"|Traceback|\w(?:Error|Exception)\b|\bHTTP\b|\b(?:status code|API|SQL|JSON|null|backend|database)\b|\b(?:40[34]|429|50[03])\b"
    r"|ECONN|StopIteration|identifier|\b(?:8812|1234|7f3e)\b|~~~|\$HOME"
    r"|\b(?:SELECT|select \*|FROM|WHERE|DROP TABLE)\b|[{}`]|</?\w+>|\(\)|add_task|\x1b|\u202e|\bprint\b|x = "
)
_EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u260f\u2612-\u2712\u2715-\u27bf\u2b00-\u2bff\ufe0f]")
_CLAIM = re.compile(
    r"\b(?:added|deleted|removed|completed|marked|updated|created|gone|done|successfully|all set|moon)\b"
    r"|\b17\b|[☐✓]|\bempty\b|really want|Confirm with|\b(?:I'll|Let me) (?:delete|add)",
    re.IGNORECASE,
)
_OURS = (
    NOTHING_DONE,
    UNSEEN,
    "I'm having a bit of trouble right now. Please try again.",
    "That's more than I can do in one go. Could you ask me for fewer things at once?",
)


@dataclass(frozen=True)
class Stored:
    """The tasks of a user at one moment."""

    tasks: dict[int, tuple[str, bool]]

    @classmethod
    def of(cls, tasks: Sequence[Task]) -> Stored:
        return cls({task.id or 0: (task.title, task.completed) for task in tasks})


def text(dice: random.Random) -> str:
    """What a model may say: of everything a little."""
    pieces = [dice.choice(dice.choice(ALL)) for _ in range(dice.randint(1, 5))]
    return dice.choice(("\n", " ", "\n\n")).join(pieces)


def turn(dice: random.Random) -> Any:
    """What a model may do in a turn."""
    acts: Sequence[Callable[[], Any]] = (
        lambda: reply(text(dice)),
        lambda: reply(dice.choice(CLAIMS)),
        lambda: reply(""),
        lambda: calls(*[_call(dice) for _ in range(dice.randint(1, 3))], text=dice.choice(("", text(dice)))),
        lambda: calls(*[_call(dice) for _ in range(dice.randint(1, 3))], text=dice.choice(CLAIMS)),
        lambda: calls(*[call("add_task", title=f"again {n}") for n in range(dice.choice((2, 11, 14)))]),
        lambda: fail(StreamingError("cut"), after=text(dice)),
        lambda: NetworkError("connect ECONNREFUSED 10.0.0.1:443"),
    )
    return dice.choices(acts, weights=(3, 3, 1, 6, 3, 1, 1, 1))[0]()


def _call(dice: random.Random) -> ToolCall:
    title = dice.choice((*TITLES, "milk", "nothing like it", "the"))
    return dice.choice(
        (
            call("add_task", title=dice.choice(("fly to the moon", "buy eggs"))),
            call("list_tasks"),
            call("list_tasks", status="completed"),
            call("complete_task", task=title),
            call("update_task", task=title, priority="High"),
            call("update_task", task=title),
            call("delete_task", task=title),
            call("delete_task", task=title, confirmed=True),
            call("change_all_tasks", operation=dice.choice(("delete_all", "complete_all"))),
            call("undo_last_change"),
            call("remove_everything"),
            call("add_task"),
            ToolCall("", "add_task", {}, malformed="{title: oops"),
        )
    )


def assert_obeys(result: AgentResult, before: Stored, after: Stored) -> None:
    """The reply is the contract's, and says of the tasks what is stored."""
    words = result.response
    assert words.strip()
    assert len(words) <= 520
    assert type(result.tool_calls) is list
    assert len(result.tool_calls) <= 10
    assert (result.error is None) is result.success
    for line in (result.error or "").split("\n"):
        assert line in words or "…and " in words, (line, words)
    assert not _NEVER.search(words), words
    if any(claim in words for claim in (*UNUSUAL, *IN_OTHER_LANGUAGES)):
        assert UNSEEN in words, words
    assert not _EMOJI.search(words), words
    told = _read(words)
    _assert_agree(told, before, after, result)


@dataclass
class _Told:
    added: int = 0
    completed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    is_more: bool = False
    shown: tuple[tuple[bool, str], ...] = ()


def _read(words: str) -> _Told:
    """What the lines of a reply say of the tasks; a line that says something of them in other words fails."""
    told = _Told()
    paragraphs = re.sub(r"\n\n(?=.*\Z)|\n\n\(Your list was not read or changed for this\.\)\n\n", "\n", words)
    for line in paragraphs.split("\n"):
        if found := re.fullmatch(r"Got it! Added (.+) to your list\. Anything else\?", line):
            more = re.search(r" and (\d+) more$", found[1])
            told.added += len(re.findall(r"'[^']+'", found[1])) + (int(more[1]) if more else 0)
        elif found := re.fullmatch(r"Great! I've marked '(.+)' as complete\.", line):
            told.completed += (found[1],)
        elif line.startswith("Done: "):  # several deeds, in short
            told.added += len(re.findall("added '", line))
            told.is_more = True
        elif found := re.fullmatch(r"I've removed '(.+)' from your tasks\.", line):
            told.removed += (found[1],)
        elif found := re.fullmatch(r"\d+\. ([☐✓]) (.+?)(?: \(.+\))?", line):
            told.shown += ((found[1] == "✓", found[2]),)
        elif line.startswith("…and "):
            told.is_more = True
        elif not _is_of_the_contract(line):
            assert line.strip(), words
            for ours in _OURS:
                line = line.replace(ours, "")  # noqa: PLW2901 - what is left is the model's
            assert not _CLAIM.search(line), line
    return told


_CONTRACT = tuple(
    re.compile(pattern)
    for pattern in (
        r"Noted: .+\.",
        r"'.+'(?: \(.+\))? is already on your list\. Tell me what to change about it, or give the new one another name\.",
        r"Updated! '.+' now has .+\.",
        r"'.+' is already complete\.",
        r"I couldn't find a task about '.+' in your list\.",
        r"I found multiple tasks about '.+'\. Which one: .+\?",
        r"Could you provide more details about .+\?",
        r"(?:Let's take these one at a time\. (?:Ask me again afterwards to .+\. )?)?Do you really want to delete '.+'\? Reply 'yes delete' to confirm\.",
        r"(?:Let's take these one at a time\. (?:Ask me again afterwards to .+\. )?)?That's a big action\. Confirm with '.+'\.",
        r"Done! I've (?:deleted|completed) \d+ tasks?\.",
        r"I've undone that: .+\.",
        r"You have no .+\.",
        r"There is nothing to undo\.",
    )
)


def _is_of_the_contract(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in _CONTRACT)


def _assert_agree(told: _Told, before: Stored, after: Stored, result: AgentResult) -> None:
    words = result.response
    if "I've undone that" in words or "Done! I've" in words:
        return  # several changes, some of them of each other: what it says is told by the tool that did it
    if told.is_more and not told.shown:
        return
    added = after.tasks.keys() - before.tasks.keys()
    assert told.added == len(added), (words, before, after)
    gone = [title for number, (title, _) in before.tasks.items() if number not in after.tasks]
    assert sorted(told.removed) == sorted(gone), words
    completed = [
        title
        for number, (title, done) in after.tasks.items()
        if done and not before.tasks.get(number, ("", False))[1]
    ]
    assert sorted(told.completed) == sorted(completed), words
    for is_done, title in told.shown:
        assert (title, is_done) in after.tasks.values(), words
    if before != after:
        assert result.tool_calls
