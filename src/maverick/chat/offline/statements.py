"""Reads what is said about tasks that are on the list: what each clause does to which of them.

A clause is taken apart: the tasks it mentions, the dates and the priority in it, and what remains. What remains tells what is
asked for, by the words in it and not by their order. A clause that has words which nothing explains is not certain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from maverick.chat.matching import BASE_FORMS, is_same_deed, is_same_word, meaningful, plain_word
from maverick.chat.offline import cues
from maverick.chat.offline.dates import find_span, take_all
from maverick.chat.offline.grammar import read_sentence
from maverick.chat.offline.mentions import Mention, mark
from maverick.chat.offline.titles import renamed
from maverick.chat.offline.wording import begins_with_deed, pattern, quoted, reference, take_priority
from maverick.providers.offline import RequestedCall

if TYPE_CHECKING:  # the offline model does without a database
    from maverick.chat.tables import Task


class Statement(NamedTuple):
    """What is said of tasks on the list."""

    calls: Sequence[RequestedCall]
    is_certain: bool
    topic: str = ""
    """The title of the task that it was about last."""


class _Act(NamedTuple):
    """What a clause asks for, and whether that is certain."""

    tool_name: str
    values: dict[str, Any]
    is_certain: bool = True


@dataclass(slots=True)
class _Reader:
    """Reads the clauses of a sentence, one after the other."""

    answered: str
    tasks: Sequence[Task]
    today: date
    mentions: Sequence[Mention]
    text: str
    added: list[RequestedCall] = field(default_factory=list)
    """Tasks to add, said beside what is done: "I bought milk and need to buy butter"."""
    acts: list[tuple[str, _Act]] = field(default_factory=list)
    """What is asked for, each with the name of the task."""
    is_certain: bool = True
    topic: Sequence[Task] = ()
    seen: list[Task] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Tasks of which something was said that is not understood."""
    is_strange: bool = False
    """Whether the last clause about a task has words that nothing explains, and asks for nothing."""
    day: date | None = None
    """The last date that was said."""

    def read(self, clause: str) -> None:
        """Take in a clause."""
        marks = [self.mentions[int(n)] for n in re.findall(r"§(\d+)", clause)]
        marks = marks[:1] if len({_named(mention.tasks) for mention in marks}) == 1 else marks
        priority, rest = take_priority(cues.LEVEL.sub(r"\1 priority", cues.FROM_LEVEL.sub("", clause)))
        days, note, rest = take_all(rest, self.today)
        if not days and self.day and cues.THEN.search(rest):
            days, rest = [self.day], cues.THEN.sub(" D", rest)
        self.day = days[0] if days else self.day
        span = None if days else find_span(rest)
        rest = f"{span.rest if span else rest}{' P' if priority else ''}"
        values: dict[str, Any] = {"priority": priority} if priority else {}
        values |= {"due_date": days[0].isoformat()} if days else {}
        values |= {"postpone_days": span.days} if span else {}
        values |= {"description": note} if note and values else {}
        tasks = marks[0].tasks if marks else self._pronoun(clause)
        if marks:
            self.topic, self.seen = tasks, [*self.seen, *tasks]
        if not tasks and not marks:
            self._of_topic(clause, rest, values)
            return
        if days and self._is_over(clause, tasks):
            values.pop("due_date")
        act = self._act(rest, clause, tasks, values, marks)
        self.is_strange = act is None and not cues.NOT.search(rest) and bool(self._unknown(rest, tasks))
        if act is None:
            is_reason = not marks or cues.NOT.search(rest) or cues.TO_COME.search(rest)
            is_read = is_reason or {*self._unknown(rest, tasks)} <= {"wait"}
            self.unread += [] if is_read else [_named(tasks)]
            return
        is_big = len(tasks) > 1 and marks and cues.WHOLE.match(marks[0].words)
        is_half = act.tool_name == "complete_task" and (is_big or cues.FOR_NOW.search(clause))
        is_clear = len(marks) < 2 and len(days) < 2 and bool(tasks)
        is_clear = is_clear and not (is_half or cues.GUARD.search(rest))
        name = _named(tasks) if not marks or marks[0].is_clear else marks[0].words
        if (name, act._replace(is_certain=True)) not in self.acts or cues.GUARD.search(rest):
            self.acts.append((name, act._replace(is_certain=act.is_certain and is_clear)))

    def _is_over(self, clause: str, tasks: Sequence[Task]) -> bool:
        """Whether a date says when the tasks were done: "I paid the rent on Sunday"."""
        found = cues.DID_ON.search(clause)
        is_any = found is not None and _base(found["verb"]) in ("do", "finish", "complete")
        return found is not None and (is_any or _is_own([found["verb"]], tasks))

    def _of_topic(self, clause: str, rest: str, values: dict[str, Any]) -> None:
        """A clause that names no task: a value for the last one, a condition, or a remark."""
        if (
            re.search(rf" (?:and|but) {re.escape(clause)}", self.text)
            and cues.OBLIGED.match(clause)
            and not cues.PRONOUN.search(clause)
            and (new := read_sentence(clause, "", self.today))
        ):
            self.added += new
        elif values and self.topic and not self._unknown(rest, self.topic) and not cues.NOT.search(rest):
            name = _named(self.topic)
            if (name, "complete_task") not in [(of, act.tool_name) for of, act in self.acts]:
                is_certain = name not in self.unread and not (self.is_strange and not cues.SETS.search(rest))
                said = [act.values for of, act in self.acts if of == name]
                is_new = all(each.get(key, value) == value for each in said for key, value in values.items())
                self.acts.append((name, _Act("update_task", values, is_certain and is_new)))
        elif self.acts and (
            cues.GUARD.search(clause)
            or (self.acts[-1][1].tool_name == "complete_task" and cues.NOT.search(clause))
        ):
            self.is_certain = False

    def _pronoun(self, clause: str) -> Sequence[Task]:
        found = cues.PRONOUN.search(clause)
        if found is None:
            return ()
        is_many = re.match(r"both|all\b|them|th[eo]se", found[0], re.IGNORECASE) is not None
        if is_many and len(self.seen) > 1:
            return self.seen
        if self.topic:
            return self.topic if is_many or len(self.topic) == 1 else ()
        self.topic = self._shown(found[0], is_many=is_many)
        return self.topic

    def _shown(self, word: str, *, is_many: bool) -> Sequence[Task]:
        name = reference(word.removesuffix("'re") if is_many else "it", self.answered)
        titles = re.findall(r"'(.+?)'(?= and |$)", name) or [name]
        meant = [self._titled(title) for title in titles]
        return [task for task in meant if task is not None] if None not in meant else ()

    def _titled(self, title: str) -> Task | None:
        exact = [task for task in self.tasks if task.title == title]
        found = mark(title, "", self.tasks, self.today).mentions if title and not exact else ()
        return exact[0] if exact else found[0].tasks[0] if len(found) == 1 and found[0].is_clear else None

    def _unknown(self, rest: str, tasks: Sequence[Task]) -> list[str]:
        """The words of a clause that nothing explains."""
        own = [word for task in tasks for word in meaningful(task.title)]
        said = re.findall(r"[^\W\d_][\w'-]*", re.sub(r"§\d+", " ", rest.replace("’", "'").lower()))
        return [
            word
            for word in said
            if word not in cues.KNOWN
            and re.sub(r"'(?:s|re|ve|ll|d)$", "", word) not in cues.KNOWN
            and not any(is_same_word(_base(word), each) for each in own)
        ]

    def _act(
        self, rest: str, clause: str, tasks: Sequence[Task], values: dict[str, Any], marks: Sequence[Mention]
    ) -> _Act | None:
        rest = cues.OTHERS_SAY.sub("", rest)
        is_known = not self._unknown(rest, tasks)
        if cues.UNDATE.search(rest) and not values:
            return _Act("update_task", {"due_date": "none"}, is_known)
        if cues.REOPEN.search(rest) and not values:
            return self._reopened(tasks, is_known=is_known)
        is_done = None if cues.NOT.search(rest) else self._done(rest, tasks, values, marks)
        if is_done or (is_done is not None and not cues.REMOVE.search(rest)):
            return _Act("complete_task", {}, is_done)
        if values:
            return self._valued(rest, clause, values, is_known=is_known)
        return self._other(rest, is_known=is_known)

    def _other(self, rest: str, *, is_known: bool) -> _Act | None:
        if cues.CALM.search(rest):
            return _Act("update_task", {"priority": "Medium"}, is_known)
        if level := cues.RAISE.search(rest):
            return _Act("update_task", {"priority": "High" if level["up"] else "Low"}, is_known)
        if removal := cues.REMOVE.search(rest):
            return None if cues.KEPT.search(rest[: removal.start()]) else _Act("delete_task", {})
        if cues.UNDONE.search(rest):
            return _Act("update_task", {"completed": False}, is_known)
        return self.acts[-1][1] if self.acts and cues.SAME.fullmatch(rest) else None

    def _reopened(self, tasks: Sequence[Task], *, is_known: bool) -> _Act | None:
        if self.answered.startswith("Updated!") and not any(task.completed for task in tasks):
            return _Act("undo_last_change", {}, len(tasks) == 1)
        return _Act("update_task", {"completed": False}, is_known)

    def _valued(self, rest: str, clause: str, values: dict[str, Any], *, is_known: bool) -> _Act | None:
        """A new date or priority, unless it is said when something will be done, or that it is not so."""
        if "due_date" in values and cues.WILL.search(rest):  # perhaps that day, perhaps not
            return None
        before = self.acts[-1][1] if self.acts else None
        is_next = (
            before is not None and before.tool_name == "update_task" and before.values.keys() == values.keys()
        )
        named = {mention.words.casefold() for mention in self.mentions}
        is_note = cues.NOTED.fullmatch(rest) and not any(
            task.due_date and (task.title.casefold() not in named or cues.ENDS.match(task.title))
            for task in self.topic
        )
        deed = _DEED_OF_IT.match(clause)
        is_own = deed is not None and _is_own([deed["deed"]], self.topic)
        if not (cues.SETS.search(rest) or cues.SETS.search(clause) or is_next or is_note or is_own) or (
            cues.NOT_SET.search(rest) and not cues.NOT_YET.search(clause)
        ):
            return None
        is_plan = "due_date" in values and cues.PLAN.match(rest)
        # "My flight is on Sunday" says when the flight is, and not when to book it.
        is_fact = "due_date" in values and cues.FACT.fullmatch(clause) is not None
        is_over = self.answered.startswith("Great!") and "§" not in clause
        return _Act("update_task", values, is_known and not (is_plan or is_fact or is_over))

    def _done(
        self, rest: str, tasks: Sequence[Task], values: dict[str, Any], marks: Sequence[Mention]
    ) -> bool | None:
        """Whether it is certain that the tasks are done; ``None`` if that is not said."""
        day = values.get("due_date", "")
        if day > self.today.isoformat() or {"priority", "postpone_days"} & {*values}:
            return None
        if cues.COMMANDED.search(rest) and not (day and re.search(r"\bdue\b", rest)):
            return not self._unknown(rest, tasks)
        if cues.TO_COME.search(rest):
            return None
        short = cues.TAIL.sub("", rest)
        short = rest if "§" in rest and "§" not in short else short
        verbs = [each[0].lower() for each in cues.PAST.finditer(short) if each[0].lower() not in cues.NO_DEED]
        is_known = not {*self._unknown(short, tasks)} - {*verbs}
        if cues.STATED.search(short):
            return is_known
        if not verbs:
            return True if marks and cues.HAVE.search(short) and is_known else None
        return self._reported(short, verbs, tasks, is_known=is_known)

    def _reported(
        self, short: str, verbs: Sequence[str], tasks: Sequence[Task], *, is_known: bool
    ) -> bool | None:
        """Whether what was done is what the tasks say, and the user did it."""
        either = f"(?:{'|'.join(verbs)})\\b"
        is_own = _is_own(verbs, tasks)
        ours = pattern(rf"\W*(?:my|our|the) \w+ (?:has |have )*(?:already|finally|just) {either}")
        is_known = is_known or (is_own and ours.match(short) is not None)
        is_mine = cues.BY_ME.search(short) or pattern(rf"\W*{either}").match(short)
        is_passive = pattern(
            rf"(?:§\d+|\b(?:it|that|they|them))(?P<be>(?:'s|\W|\b(?:is|are|was|were|has|have|been|got|now|all|already|finally)\b)*) {either}"
        ).search(short)
        if not is_mine and not is_passive:
            others = pattern(rf"\W*(?:(?:my|our|the) )?\w+ (?:(?:has|have|had|just) )*{either}.*§")
            return False if is_own and others.match(short) else None
        if not is_mine and is_passive and not is_passive["be"].strip() and cues.BY_PEOPLE.search(short):
            return None
        return is_known and (
            is_own or _base(verbs[0]) in ("get", "do", "grab", "pick", "send", "make", "write")
        )


_DEED_OF_IT = pattern(r"(?P<deed>\w+) (?:it|them)\b")


def _is_own(verbs: Sequence[str], tasks: Sequence[Task]) -> bool:
    """Whether the verbs say what the tasks do."""
    return all(
        not begins_with_deed(task.title)
        or any(is_same_deed(_base(verb), word) for verb in verbs for word in meaningful(task.title))
        for task in tasks
    )


def _base(word: str) -> str:
    word = plain_word(word)
    return BASE_FORMS.get(word) or (re.sub(r"(?:ed|ing)$", "", word) if len(word) > 5 else word)


def _named(tasks: Sequence[Task]) -> str:
    titles = list(dict.fromkeys(task.title for task in tasks))
    return titles[0] if len(titles) == 1 else " and ".join(f"'{title}'" for title in titles)


_ELSEWHERE = pattern(
    r"\bundo\b|\b(?:except|apart from|other than|besides|excluding)\b|\b(?:all|everything) but\b"
)


def read_statement(said: str, answered: str, tasks: Sequence[Task], today: date) -> Statement | None:
    """What a sentence says of tasks on the list; ``None`` if it mentions none, asks something, or adds a task."""
    for title in quoted(said):  # a task that is named in quotation marks is mentioned like any other
        is_known = any(task.title.casefold() == title.casefold() for task in tasks)
        said = re.sub(rf"[\"'“‘]{re.escape(title)}[\"'”’]", title, said, count=1) if is_known else said
    if not tasks or cues.ASKS.match(said) or _ELSEWHERE.search(said):
        return None
    marked = mark(said.replace("§", " "), answered, tasks, today)
    text = cues.ARE_DONE.sub(r"\g<tasks> is done", cues.IS_DONE.sub(" is ", marked.text))
    marked = marked._replace(text=text)
    if new := renamed(marked, said, answered, tasks, today):
        call = RequestedCall("update_task", {"task": new.task, "title": new.title})
        return Statement([call], new.is_certain, new.title)
    clauses = [clause for clause in cues.BREAK.split(marked.text) if clause]
    if quoted(said) or any(cues.ADDS.match(clause) for clause in clauses):
        return None
    if any(not mention.is_clear and len(mention.tasks) < 2 for mention in marked.mentions):
        return Statement([], is_certain=False)
    reader = _Reader(answered, tasks, today, marked.mentions, marked.text)
    for clause in clauses:
        reader.read(clause)
    topic = reader.topic[-1].title if reader.topic else ""
    return _statement(reader, topic) if reader.acts or topic else None


def _statement(reader: _Reader, topic: str) -> Statement:
    """The acts, with what is said of one task in one of them: what is certain of it makes up for a guess before."""
    merged: dict[tuple[str, str], _Act] = {}
    for name, act in reader.acts:
        before = merged.get((name, act.tool_name))
        if (name, "delete_task") in merged:
            continue  # it says why
        is_certain = act.is_certain and (
            before is None or before.is_certain or before.values.keys() <= act.values.keys()
        )
        merged[name, act.tool_name] = act._replace(
            values={**(before.values if before else {}), **act.values}, is_certain=is_certain
        )
    calls = [
        RequestedCall(tool, {"about" if tool == "undo_last_change" else "task": name, **act.values})
        for (name, tool), act in merged.items()
    ]
    is_read = all(any(name == of for of, _ in reader.acts) for name in reader.unread)
    calls += reader.added
    return Statement(
        calls, reader.is_certain and is_read and all(act.is_certain for act in merged.values()), topic
    )
