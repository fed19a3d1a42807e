"""What people say about their tasks, and what it means: data, in three parts.

The grammar was written against ``seen``. ``heldout`` was written before the grammar, and some of it after its last
change; the grammar is never tuned on it. ``independent`` was written by somebody who had not read the grammar.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from maverick.chat.matching import KNOWN_TASKS
from maverick.chat.offline import Kind, meaning_of
from maverick.chat.offline.wording import listed
from maverick.chat.tables import Task

TODAY = date(2026, 3, 4)
"""The Wednesday on which all of it is said."""


@dataclass(frozen=True)
class Utterance:
    say: str
    do: Any
    after: str = ""
    before: str = ""

    def understood(self) -> Any:
        KNOWN_TASKS.set([Task(user_id="ana", title=title) for title in self._titles()])
        meaning = meaning_of(self.say, self.after, self.before, TODAY)
        if meaning.kind is Kind.UNSURE:  # nothing is done before it is answered
            return Kind.UNSUPPORTED.value
        if meaning.kind is not Kind.REQUEST:
            return meaning.kind.value
        return [[call.tool_name, _telling(call.arguments)] for call in meaning.calls]

    def _titles(self) -> set[str]:
        """The tasks on the list: those that are meant, and those that were shown."""
        asked = [] if isinstance(self.do, str) else [arguments for _, arguments in self.do]
        named = [str(each[name]) for each in asked for name in ("task", "about") if name in each]
        each = [title for text in named for title in re.findall(r"'(.+?)'", text) or [text]]
        each += [title for arguments in asked for title in arguments.get("except_tasks", ())]
        return {_telling({"task": title})["task"] for title in (*each, *listed(self.after))}

    def expected(self) -> Any:
        if isinstance(self.do, str):
            return self.do
        return [[tool_name, _telling(arguments)] for tool_name, arguments in self.do]


def utterances(part: str) -> list[Utterance]:
    file = Path(__file__).parent / "utterances" / f"{part}.jsonl"
    return [Utterance(**json.loads(line)) for line in file.read_text().splitlines()]


def misunderstood(part: str) -> list[tuple[str, Any, Any]]:
    return [(u.say, u.expected(), u.understood()) for u in utterances(part) if u.expected() != u.understood()]


def _telling(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments without the words that tell no task from another here: what was done with it, articles, "task"."""
    if "task" not in arguments:
        return arguments
    task = re.sub(r"^(?:bought|paid|sent|picked up)\s+", "", arguments["task"])
    task = re.sub(r"^(?:the|my|a|an)\s+|\s+task$", "", task)
    return {**arguments, "task": task}
