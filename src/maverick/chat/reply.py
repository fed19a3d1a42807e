"""Composes the reply to the user from what the task tools did, in the words of the contract.

Only the tools know what happened, and their messages are the contract's sentences. So as soon as a task tool has run,
the reply is made of its messages, and the model's account of it is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby
from typing import Any

import msgspec

from maverick.chat import phrases
from maverick.chat.contract import AgentResult, ToolCallRecord
from maverick.chat.sentences import visible
from maverick.chat.streaming import SentenceFilter
from maverick.chat.task_tools import ADD, CHANGE_ALL, COMPLETE, DELETE, LIST, TASK_TOOL_NAMES, UPDATE
from maverick.journal.redaction import redact_text
from maverick.loop import TerminateReason
from maverick.loop.result import ToolOutcome, ToolRecord
from maverick.model.untrusted import unmarked

_NO_ERRORS = frozenset(("declined", "nothing_to_undo"))
_WHOLE: tuple[dict[str, Any], ...] = ({}, {"status": "open"}, {"status": "all"})
"""How a model may ask for the list."""
_VERBS = {ADD.name: "added", COMPLETE.name: "completed", UPDATE.name: "updated", DELETE.name: "removed"}
_LIMITS = frozenset(
    (
        TerminateReason.MAX_TOOL_CALLS,
        TerminateReason.MAX_TURNS,
        TerminateReason.MAX_TOTAL_TOKENS,
        TerminateReason.MAX_COST,
    )
)


class _Kind(IntEnum):
    """What a tool's message is about; if there is not enough room, the higher ones are shown."""

    LIST = 1
    DONE = 2
    ERROR = 3
    QUESTION = 4


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The message of a task tool."""

    kind: _Kind
    sentence: str
    call: ToolCallRecord

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = self.call.result.get("data") or {}
        return data


def unfit_list(calls: Sequence[ToolCallRecord], text: SentenceFilter) -> ToolCallRecord | None:
    """The last call for a list, if tasks were changed after it, or if it is a part of what was asked for."""
    outcomes = [outcome for call in calls if (outcome := _outcome(call)) is not None]
    lists = [place for place, outcome in enumerate(outcomes) if outcome.kind is _Kind.LIST]
    if not lists or not text.asked.wants_list:
        return None
    last = outcomes[lists[-1]].call
    is_old = any(outcome.kind is _Kind.DONE for outcome in outcomes[lists[-1] :])
    is_part = len(lists) == 1 and last.parameters not in _WHOLE
    if is_part and text.asked.wants_whole_list:
        return replace(last, parameters={})
    if is_part and not text.was_said(str(last.parameters.get("about", ""))):
        return replace(last, parameters={name: v for name, v in last.parameters.items() if name != "about"})
    return last if is_old else None


def compose(
    calls: Sequence[ToolCallRecord], text: SentenceFilter, latest: ToolCallRecord | None = None
) -> AgentResult:
    """The reply when the agent has finished, from its tool calls and what was sent of the model's words.

    ``latest`` is the list as it is now, where the user asked for one before a change, or for more than the model did.
    """
    made = calls if latest is None else [*(c for c in calls if c.tool_name != LIST.name), latest]
    outcomes = [_for_user(outcome, text) for outcome in _standing(made)]
    trouble = phrases.TROUBLE if text.failed else ""
    if outcomes or trouble:
        errors = [outcome.sentence for outcome in outcomes if outcome.kind is _Kind.ERROR] + [trouble]
        room = phrases.RESPONSE_LENGTH - len(text.text) - len(trouble)
        error = _joined(*dict.fromkeys(errors))
        shown = _shown(outcomes, room - len(text.aside))
        return AgentResult(not error, _beside(text, [*shown, trouble]), list(calls), error or None)
    if text.disclaimer == phrases.NOTHING_DONE:
        response = phrases.unbacked(text.text, phrases.NOTHING_DONE)
        return AgentResult(False, response, list(calls), phrases.NOTHING_DONE)
    if not text.text and not (text.asked.declines and text.disclaimer):
        return AgentResult(False, phrases.TROUBLE, list(calls), phrases.TROUBLE)
    return AgentResult(True, phrases.unbacked(text.text, text.disclaimer), list(calls))


def explain(reason: TerminateReason, calls: Sequence[ToolCallRecord], text: SentenceFilter) -> AgentResult:
    """The reply when the agent did not finish: what was done until then, and why it ended."""
    has_acted = any(outcome.kind is _Kind.DONE for outcome in map(_outcome, calls) if outcome is not None)
    why = phrases.CUT_SHORT if has_acted else phrases.TROUBLE
    if reason in _LIMITS:
        why = phrases.TOO_MUCH
    elif reason is TerminateReason.TIMEOUT:
        why = phrases.OUT_OF_TIME if calls else phrases.TROUBLE
    elif reason is TerminateReason.ABORTED:
        why = phrases.STOPPED
    outcomes = [_for_user(outcome, text) for outcome in _standing(calls) if outcome.sentence != why]
    shown = _shown(outcomes, phrases.RESPONSE_LENGTH - len(text.text) - len(why))
    is_stopped_text = reason is TerminateReason.ABORTED and text.text and not shown
    if is_stopped_text:
        response = phrases.unbacked(text.text, text.disclaimer)
    else:
        response = _beside(text, [*shown, why])
    return AgentResult(False, response, list(calls), why)


def _beside(text: SentenceFilter, told: Sequence[str]) -> str:
    """The model's words, and below them what tools did, or what went wrong."""
    if not text.aside:
        return _joined(text.text, *told)
    return f"{phrases.unbacked(text.text, text.aside)}\n\n{_joined(*told)}"


def _for_user(outcome: _Outcome, text: SentenceFilter) -> _Outcome:
    """The message of a tool without what the model was looking for, if that is nothing a user may read.

    A question about many tasks says so if the model left out what the user excepted.
    """
    sentence, given = visible(outcome.sentence), outcome.call.parameters
    for sought in given.values():
        if isinstance(sought, str) and not text.may_quote(sought):
            sentence = sentence.replace(f" about '{phrases.shortened(sought)}'", " like that")
    is_bulk = outcome.kind is _Kind.QUESTION and outcome.call.tool_name == CHANGE_ALL.name
    if is_bulk and text.asked.makes_exception and not given.get("except_tasks"):
        sentence = f"{phrases.NO_EXCEPTION} {sentence}"
    return replace(outcome, sentence=sentence)


def _standing(calls: Sequence[ToolCallRecord]) -> list[_Outcome]:
    """The messages of the task tools, without those that a later call has made untrue."""
    outcomes = [outcome for call in calls if (outcome := _outcome(call)) is not None]
    standing = [
        outcome for place, outcome in enumerate(outcomes) if not _is_outdated(outcome, outcomes[place + 1 :])
    ]
    questions = {outcome.sentence: outcome for outcome in outcomes if outcome.kind is _Kind.QUESTION}
    if len(questions) > 1:
        standing = [
            _asked_first(outcome, questions) if outcome.kind is _Kind.QUESTION else outcome
            for outcome in standing
        ]
    return sorted(standing, key=lambda outcome: outcome.kind is _Kind.QUESTION)


def _asked_first(asked: _Outcome, questions: Mapping[str, _Outcome]) -> _Outcome:
    """The question that is open, with what the others were about."""
    others = [each.call.result["error"] for sentence, each in questions.items() if sentence != asked.sentence]
    actions = [str(error.get("details", {}).get("action", "")) for error in others]
    return replace(asked, sentence=f"{phrases.one_at_a_time([*filter(None, actions)])} {asked.sentence}")


def _outcome(call: ToolCallRecord) -> _Outcome | None:
    if call.tool_name not in TASK_TOOL_NAMES:
        return None
    said = call.result.get("data" if call.result.get("success") else "error")
    if (
        not isinstance(said, dict)
        or not isinstance(said.get("message"), str)
        or said.get("code") == "cancelled"
    ):
        return None
    kind = _Kind.LIST if call.tool_name == LIST.name else _Kind.DONE
    if "code" in said and said["code"] not in _NO_ERRORS:
        kind = _Kind.QUESTION if said["code"] == "confirmation_required" else _Kind.ERROR
    return _Outcome(kind, said["message"], call)


def _is_outdated(outcome: _Outcome, later: Sequence[_Outcome]) -> bool:
    if outcome.kind is _Kind.LIST:  # of what the list was before
        return any(o.kind is _Kind.DONE or o.sentence == outcome.sentence for o in later)
    if outcome.kind is _Kind.ERROR:  # of a call that worked in the end, or the same words again
        return any(
            o.sentence == outcome.sentence or (o.kind is not _Kind.ERROR and _makes_up_for(o, outcome))
            for o in later
        )
    if outcome.kind is _Kind.QUESTION:  # a new question withdraws the one before
        return any(o.kind is _Kind.QUESTION for o in later)
    return " already " in outcome.sentence and any(o.sentence == outcome.sentence for o in later)


def _makes_up_for(outcome: _Outcome, failed: _Outcome) -> bool:
    """Whether a call is a failed one again: with the same arguments, or mended ones for the same task."""
    given, before = outcome.call.parameters, failed.call.parameters
    if outcome.call.tool_name != failed.call.tool_name or given == before:
        return outcome.call.tool_name == failed.call.tool_name
    subject = before.get("task", before.get("title"))
    is_mended = failed.call.result["error"].get("code") == "invalid_input"
    return is_mended and subject in (None, given.get("task", given.get("title")))


def _shown(outcomes: Sequence[_Outcome], room: int) -> list[str]:
    """The sentences that fit; several added tasks share one, and all that was done does if there is no room for more."""
    shown: list[tuple[_Kind, str, int]] = []
    for is_addition, group in groupby(
        outcomes, lambda o: o.call.tool_name == ADD.name and o.sentence.startswith(phrases.GOT_IT)
    ):
        same = list(group)
        if is_addition:
            titles = [str(o.data["title"]) for o in same]
            noted = [each for o in same for each in phrases.noted_in(o.sentence)]
            shown.append((_Kind.DONE, phrases.added(*titles, noted=noted), len(same)))
        else:
            shown += [(o.kind, o.sentence, int(o.data.get("count", 1))) for o in same]
    needed = sum(len(sentence) + 1 for kind, sentence, _ in shown if kind is not _Kind.LIST)
    deeds = [
        phrases.in_short(_VERBS[o.call.tool_name], str(o.data["title"])) for o in outcomes if _has_title(o)
    ]
    if needed > room and len(deeds) > 1:
        rest = [(o.kind, o.sentence, int(o.data.get("count", 1))) for o in outcomes if not _has_title(o)]
        shown = [(_Kind.DONE, phrases.all_in_short(deeds), len(deeds)), *rest]
    return _fitted(shown, room)


def _has_title(outcome: _Outcome) -> bool:
    """Whether an outcome is what was done to one task."""
    return outcome.kind is _Kind.DONE and outcome.call.tool_name in _VERBS and "title" in outcome.data


def _fitted(shown: Sequence[tuple[_Kind, str, int]], room: int) -> list[str]:
    chosen: dict[int, str] = {}
    for place, (kind, sentence, count) in sorted(enumerate(shown), key=lambda each: -each[1][0]):
        left = room - sum(len(each) + 1 for each in chosen.values())
        text = phrases.fitted(sentence, count, left) if kind is _Kind.LIST else sentence
        if not chosen or len(text) <= left:
            chosen[place] = text
    missing = len(shown) - len(chosen)
    kept = [chosen[place] for place in sorted(chosen)]
    if missing:
        kept.insert(len(kept) - (shown[-1][0] is _Kind.QUESTION), f"…and {missing} more.")
    return kept


def _joined(*sentences: str) -> str:
    return "\n".join(sentence for sentence in sentences if sentence)


def tool_call_record(made: ToolRecord, trouble: str = phrases.TROUBLE) -> ToolCallRecord:
    """A tool call of a run, as it is kept with the answer; ``trouble`` is what a user is told of one that failed."""
    parameters = {name: value for name, value in made.arguments.items() if name != "user_id"}
    result = _parsed(made, trouble) if made.data is None else made.data
    return ToolCallRecord(made.tool_name, parameters, result, made.duration_ms)


def _parsed(made: ToolRecord, trouble: str) -> dict[str, Any]:
    """The result of a call that has only text: of another tool, or in a run that Maverick 0.1.0 began."""
    said = unmarked(made.result)
    try:
        found = msgspec.json.decode(said)
    except msgspec.DecodeError:
        found = None
    if isinstance(found, dict) and "success" in found:
        return found
    if made.outcome is ToolOutcome.FINISHED:
        return {"success": True, "data": said if found is None else found}
    error = {"code": made.outcome.value, "message": trouble, "details": {"said": redact_text(said)}}
    return {"success": False, "error": error}
