"""The rules of the offline task model, beside those every offline model has."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import msgspec

from maverick.chat.offline.meaning import Kind, meaning_of
from maverick.chat.phrases import DECLINED
from maverick.providers.offline.rules import Answer, Rule
from maverick.providers.offline.scene import Outcome, Scene

_TODAY = re.compile(r"Today is \w+, (\d{4}-\d{2}-\d{2})")
_TASK_TOOLS = frozenset(
    (
        "add_task",
        "list_tasks",
        "complete_task",
        "update_task",
        "delete_task",
        "change_all_tasks",
        "undo_last_change",
    )
)
_HELP = """\
I look after your list of tasks. You can say, for example:
“Add call the bank by Friday, high priority”
“What is due this week?”
“Mark call the bank as done”
“Move call the bank to Monday” or “rename it to …”
“Delete call the bank”, and “undo” if you change your mind."""
_WORDS: Mapping[Kind, str] = {
    Kind.GREETING: "Hello! What can I do for your list? Say “help” to see what I understand.",
    Kind.HELP: _HELP,
    Kind.THANKS: "You are welcome.",
    Kind.GOODBYE: "Goodbye!",
    Kind.DECLINED: DECLINED,
}
_CAN_NOT = (
    "I can't help with that. I'm the small offline assistant: I understand simple sentences about your tasks, such as "
    "“add buy milk for tomorrow” or “what is due today?”. Say “help” for more."
)


class RelayMessages:
    """Tells the user what the task tools said, which is written for them."""

    def answer(self, scene: Scene) -> Answer | None:
        """The tools' own words."""
        said = [_message(outcome) for outcome in scene.outcomes]
        if not said or None in said:
            return None
        return "\n".join(dict.fromkeys(message for message in said if message is not None))


class TalkAboutTasks:
    """Turns what a person says about their tasks into tool calls, and answers small talk."""

    def answer(self, scene: Scene) -> Answer | None:
        """Tools to run, or words."""
        if scene.outcomes or scene.tool("add_task") is None:
            return None
        today = _TODAY.search(scene.system)
        meaning = meaning_of(
            scene.said,
            scene.answered,
            scene.said_before[-1] if scene.said_before else "",
            date.fromisoformat(today[1]) if today else date.today(),  # noqa: DTZ011 - the user's own day
        )
        return meaning.wishes or _WORDS.get(meaning.kind)


class BesidesTasks:
    """Another rule, which does not see the task tools: they are the grammar's alone.

    Args:
        rule: The rule.
    """

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def answer(self, scene: Scene) -> Answer | None:
        """What the other rule answers."""
        others = [tool for tool in scene.tools if tool.name not in _TASK_TOOLS]
        return self._rule.answer(replace(scene, tools=others))


class AdmitItsLimits:
    """Says plainly that it does not understand, and what it does."""

    def answer(self, scene: Scene) -> Answer | None:  # noqa: ARG002 - the same whatever was said
        """Always the same words."""
        return _CAN_NOT


def besides_tasks(rules: Sequence[Rule]) -> list[Rule]:
    """Rules that do not see the task tools."""
    return [BesidesTasks(rule) for rule in rules]


def _message(outcome: Outcome) -> str | None:
    """What a task tool said for the user."""
    try:
        answer = msgspec.json.decode(outcome.text)
    except msgspec.DecodeError:
        return None
    part = answer.get("data") or answer.get("error") if isinstance(answer, dict) else None
    message = part.get("message") if isinstance(part, dict) else None
    return message if isinstance(message, str) else None
