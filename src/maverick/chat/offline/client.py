"""The client of the offline task model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date

import msgspec
from msgspec.structs import replace

from maverick.chat.offline.grammar import Kind
from maverick.chat.offline.meaning import is_answer, meaning_of
from maverick.chat.phrases import DECLINED
from maverick.providers.offline import FinishedCall, OfflineClient, RequestedCall, Turn

_TODAY = re.compile(r"Today is \w+, (\d{4}-\d{2}-\d{2})")
_TASK_TOOLS = frozenset(
    re.findall(
        r"\S+", "add_task list_tasks complete_task update_task delete_task change_all_tasks undo_last_change"
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
_CANNOT = (
    "I can't help with that. I'm the small offline assistant: I understand simple sentences about your tasks, such as "
    "“add buy milk for tomorrow” or “what is due today?”. Say “help” for more."
)


class TaskModel(OfflineClient):
    """An offline model that understands sentences about task lists, and uses other tools as every offline model does.

    Args:
        pace: Seconds between two words of a stream.
    """

    def answer(self, turn: Turn) -> str | Sequence[RequestedCall]:
        """What the task tools said, which is written for the user; else the tools to call, or words."""
        said = [_message(each) for each in turn.finished]
        if said and None not in said:
            return "\n".join(dict.fromkeys(message for message in said if message is not None))
        if not turn.finished and any(tool.name == "add_task" for tool in turn.tools):
            today = _TODAY.search(turn.system)
            meaning = meaning_of(
                turn.said,
                turn.answered,
                next((each for each in reversed(turn.said_before) if not is_answer(each)), ""),
                date.fromisoformat(today[1]) if today else date.today(),  # noqa: DTZ011 - the user's own day
            )
            if answer := meaning.calls or meaning.words or _WORDS.get(meaning.kind):
                return answer
        # The task tools are the grammar's alone.
        others = [tool for tool in turn.tools if tool.name not in _TASK_TOOLS]
        return super().answer(replace(turn, tools=others))

    def decline(self, turn: Turn) -> str:  # noqa: ARG002 - the same whatever was said
        """What it says when it does not understand."""
        return _CANNOT


def _message(finished: FinishedCall) -> str | None:
    """What a task tool said for the user."""
    try:
        answer = msgspec.json.decode(finished.text)
    except msgspec.DecodeError:
        return None
    part = answer.get("data") or answer.get("error") if isinstance(answer, dict) else None
    message = part.get("message") if isinstance(part, dict) else None
    return message if isinstance(message, str) else None
