"""What a message means, given the conversation just before it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from msgspec.structs import replace

from maverick.chat.matching import KNOWN_TASKS
from maverick.chat.offline.corrections import (
    HESITATION,
    OBJECTS,
    STILL_NEEDED,
    follow_up,
    is_taken_back,
    redated,
    taken_back,
    titles_changed,
    with_day,
)
from maverick.chat.offline.dates import take_timing
from maverick.chat.offline.doubts import is_doubtful
from maverick.chat.offline.grammar import Kind, small_talk
from maverick.chat.offline.mentions import mark
from maverick.chat.offline.requests import read, understand
from maverick.chat.offline.spelling import spelt
from maverick.chat.offline.wording import (
    begins_with_deed,
    ordinal,
    pattern,
    plain_end,
    plain_request,
    quoted,
    without_chatter,
)
from maverick.providers.offline import RequestedCall


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message means."""

    kind: Kind
    calls: Sequence[RequestedCall] = ()
    """The tools a request asks for."""
    words: str = ""
    """What is asked back."""


_LONGEST = 400
"""How long a message may be: patterns are slow on longer ones, and people do not write them."""
_ASKED_DELETE = re.compile(r"Do you really want to delete '(?P<task>.*)'\? Reply '", re.DOTALL)
_ASKED_BULK = re.compile(r"That's a big action\. Confirm with 'yes (?P<operation>[a-z ]+)'\.")
_ASKED_WHICH = re.compile(
    r"I found multiple tasks about '(?P<said>.*)'\. Which one: (?P<options>.+)\?", re.DOTALL
)
_ASKED_IF_MEANT = re.compile(
    r"I couldn't find a task about '(?P<said>[^\n]*)' in your list\. Did you mean '(?P<task>[^\n]*)'\?$"
)
_ASKED_UNDO = re.compile(r"Shall I undo my last change(?:, to '(?P<task>.*)')?\?$")
_LAST = pattern(r"\b(?:last|previous)\b")
_IS_TALK = pattern(
    r"(?:i|i'm|we|you|he|she|they|there|what|who|how|where|when|thanks|hi|hello|hey|yes|yeah|yep|ok|okay|cool|great|nice|good|perfect|lol|haha|wow|tell|sing|write|help)\b"
)
"""How a remark begins that is about something else than the change before it."""
_ASKED_WHETHER = re.compile(r"Shall I (?:add|mark|change) '.*\?$", re.DOTALL)
_MOVE = pattern(
    r"(?:postpone|delay|defer|put off|reschedule|snooze|push back|push|move) (?P<task>(?!.* (?:to|until|till) ).+?)"
    r"(?: (?:back|out|forward|off))?(?: (?:by )?(?:a|an|another|\w+) (?:more )?(?:day|week|month)s?(?: \w+)?)?"
)
_HEDGE = pattern(
    r"(?:(?:maybe|perhaps|probably|i (?:think|guess|believe|suppose)|i might|i may|not sure(?: if| whether)?)[, ]+(?:that )?)+"
)
_INTENT = pattern(
    r"(?:let's|let us|i(?:'ll| will|'m going to| am going to|'m gonna| plan to| want to|'d like to| would like to| hope to| might| may| wanna| still (?:need|have) to)|(?:(?:i|we) )?need(?! to\b| an? | you| it| that| this| help)(?: some| more)?)\s+"
)
_TO_US = pattern(r"(?:do|did|are|have|would|will|can|could) you\b|(?:what|who|how|why|where|when)\b")
"""How a question to the assistant begins: it is no task."""
_IS_COMMAND = pattern(r"(?:change|set|update|move|rename|make (?:the|my|it)) ")
_QUESTIONS: Mapping[str, str] = {
    "add_task": "add '{title}' to your list",
    "complete_task": "mark '{task}' as complete",
    "update_task": "change '{task}'",
}
_ASKED_TITLE = "Could you provide more details about what the task is?"
_ASKED_TASK = "Could you provide more details about which task you mean?"
_YES = pattern(
    r"(?!.*\b(?:but|not|don't|no|wait|later|except|only|instead)\b)(?:yes|yeah|yep|yup|sure|ok|okay|confirm(?:ed)?|do it|go ahead|absolutely|of course)\b.*"
)
_NO = pattern(
    r"(?:(?:hmm+|oh|ah|well|uh|actually)[, ]+)*(?:no|nope|nah|not now|keep (?:it|them)|cancel|stop|don't|do not|never ?mind|wait|forget it|leave (?:it|them))\b.*"
)
_SOMEBODY = pattern(
    r"\b(?:we|he|she|they|(?:my|our) \w+|(?-i:[A-Z][a-z]+))(?:'s|'ve| has| have)?(?: just| already| finally)* (?=\w)"
)
"""Somebody else who may have done a task."""


def meaning_of(said: str, answered: str, said_before: str, today: date) -> Meaning:
    """What a message means after the answer before it, and the message that this answered."""
    if len(said) > _LONGEST:
        return Meaning(Kind.UNSUPPORTED)
    said, said_before = spelt(said), spelt(said_before[:_LONGEST])
    said = with_day(said, answered)
    meaning = (
        _answer_to_question(said, answered, said_before, today)
        or _taken_back(said, answered, today)
        or _small_talk(said, answered)
        or _put_right(said, answered, today)
        or _other_task(said, answered, said_before, today)
        or _request(said, answered, said_before, today)
        or (Meaning(Kind.REQUEST, other) if (other := redated(said, answered, today)) else None)
        or (_objection(said, answered) if HESITATION.match(said) else None)
        or _errand(said, answered, today)
        or _asked_back(said, answered, today)
        or _objection(said, answered)
        or Meaning(Kind.UNSUPPORTED)
    )
    undo = RequestedCall("undo_last_change", {})
    made = titles_changed(answered)[::-1] if undo in meaning.calls and not _LAST.search(said) else ()
    if len(made) < 2:
        return meaning
    undone = [RequestedCall("undo_last_change", {"about": titles[-1]}) for titles in made]
    return Meaning(meaning.kind, [*undone, *(call for call in meaning.calls if call != undo)])


def is_answer(said: str) -> bool:
    """Whether a message is only a yes or a no."""
    return len(said.split()) < 5 and bool(_YES.fullmatch(said.strip()) or _NO.fullmatch(plain_request(said)))


def _taken_back(said: str, answered: str, today: date) -> Meaning | None:
    """What was just changed is undone, perhaps for something else: "scratch that, add eggs instead"."""
    if _UNDO.search(said) and not _NO_UNDO.search(said) and titles_changed(answered):
        return Meaning(Kind.REQUEST, [RequestedCall("undo_last_change", {})])
    is_gone = answered.startswith(("Great!", "I've removed"))
    rest = "" if is_gone and STILL_NEEDED.fullmatch(HESITATION.sub("", said)) else taken_back(said)
    if rest is None or not titles_changed(answered):
        return None
    if change := follow_up(rest, answered, today):
        return Meaning(Kind.REQUEST, change)
    instead = () if _IS_REASON.match(rest) else understand(rest, "", today) or ()
    return Meaning(Kind.REQUEST, [RequestedCall("undo_last_change", {}), *instead])


_UNDO = pattern(
    r"(?:^|[.!;,]\s*)(?:please |kindly |just |(?:can|could|would) you (?:please )?)*undo(?: (?:that|it|this))?(?:,? please)?(?:[.!?]*$|, (?=i\b|already\b|got\b|we\b|she\b|he\b|my\b))"
)
"""A request to undo, with a reason before or behind it."""
_NO_UNDO = pattern(
    r"(?:\bnot|\bdon't|\bnever|\bdidn't(?! mean))\b[^,.!;]*\bundo\b|\b(?:add|delete|remove|mark|move|rename|remind)\b"
)
_IS_REASON = pattern(r"(?:because|since|cause|i|i'm|i've|it|it's|we|he|she|they|there|the|my)\b")
_NOT_THAT = pattern(r"^not (?:the |my )?[\w ]+?, (?:but )?|,? not (?:the|my) [\w ]+$")
_STILL_OPEN = pattern(r",? (?:the |my )?\w+(?: \w+)? (?:is|are|isn't|aren't) (?:still|not|done)\b.*$")
_IT_WAS = pattern(r"(?:it|that) was (?=the |my )")
_NOT_THESE = pattern(r"not (?P<task>[\w ]+?)(?:,? (?:only|just|but) [\w ]+)?|(?:only|just) (?P<kept>[\w ]+)")
_MEANT = pattern(r"\bmeant?\b")
_ALSO = pattern(r"(?:oh,? )?(?:and |also |plus |(?:the )?same (?:for|with) )+(?P<task>(?:the|my) .+)")
_TOO = pattern(r"(?:oh,? )?(?P<task>.+?),? (?:too|as well|also)(?:,? (?:please|pls|thanks))?[.! ]*")


def _other_task(said: str, answered: str, said_before: str, today: date) -> Meaning | None:
    """The change that was just made, for another task: "no, I meant the plants", or "and the plants"."""
    is_changed = answered.startswith(("Great! I've marked", "Updated!"))
    plain = plain_end(said)
    meant = _STILL_OPEN.sub("", HESITATION.sub("", plain))
    also = _ALSO.fullmatch(plain) or _TOO.fullmatch(said) if is_changed else None
    task = also["task"] if also else _NOT_THAT.sub("", _IT_WAS.sub("", meant))
    if not (is_changed or _ASKED_DELETE.match(answered)) or (task == plain and not also):
        return None
    is_named = re.fullmatch(r"(?:the |my )?§0", mark(task, "", KNOWN_TASKS.get(), today).text)
    if not (is_named or (re.match(r"the |my ", task) and not _IT_WAS.match(plain))):
        return None
    if understand(said, answered, today) or not take_timing(f"on {task}", today).rest:
        return None
    calls = understand(said_before, "", today) or ()
    if len(calls) != 1 or "task" not in calls[0].arguments:
        return None
    changed = replace(calls[0], arguments={**calls[0].arguments, "task": task})
    back = [RequestedCall("undo_last_change", {})] if is_changed and not also else []
    return Meaning(Kind.REQUEST, [*back, changed])


def _put_right(said: str, answered: str, today: date) -> Meaning | None:
    """What was just changed, without some of it, or something else: "not the plants", "I meant I bought milk"."""
    changed = [title for titles in titles_changed(answered) for title in titles]
    plain = plain_end(said)
    meant = HESITATION.sub("", plain)
    if denied := _NOT_THESE.fullmatch(meant):
        back = _without(denied, changed, today, is_done=answered.startswith("Great!"))
        return Meaning(Kind.REQUEST, back) if back else None
    instead = understand(meant, "", today) if changed and _MEANT.search(plain[: -len(meant)]) else None
    if not instead or any(call.arguments.get("task", "") in ("", *changed) for call in instead):
        return None
    return Meaning(Kind.REQUEST, [RequestedCall("undo_last_change", {}), *instead])


def _without(
    denied: re.Match[str], changed: Sequence[str], today: date, *, is_done: bool
) -> Sequence[RequestedCall]:
    """What takes back some of the changes; none if it is not clear which, or if they were not the last."""
    marked = mark(denied["task"] or denied["kept"], "", KNOWN_TASKS.get(), today)
    named = [task.title for mention in marked.mentions for task in mention.tasks]
    wrong = [title for title in changed if (title in named) is (denied["kept"] is None)]
    is_clear = re.fullmatch(r"(?:the |my )?§0", marked.text) and {*named} <= {*changed} and len(changed) > 1
    if is_clear and is_done:
        return [RequestedCall("update_task", {"task": title, "completed": False}) for title in wrong]
    if not is_clear or wrong != changed[len(changed) - len(wrong) :]:
        return ()
    return [RequestedCall("undo_last_change", {"about": title}) for title in reversed(wrong)]


def _small_talk(said: str, answered: str) -> Meaning | None:
    kind = small_talk(said)
    if kind is None:
        return None
    is_no = _NO.fullmatch(plain_request(said)) is not None
    if is_no and "Anything else?" in answered:
        return Meaning(kind, words="All right.")
    return (_objection(said, answered) if is_no or kind is Kind.DECLINED else None) or Meaning(kind)


def _objection(said: str, answered: str) -> Meaning | None:
    """Whether to undo what was just changed: a few words that are not understood, but are no consent."""
    changes = titles_changed(answered)
    is_short = len(said.split()) < (12 if HESITATION.match(said) else 6)
    is_detail = (len(said.split()) < 5 or _IT_WAS.match(said)) and not _IS_TALK.match(said)
    if not changes or not is_short or said.endswith("?") or not (is_detail or OBJECTS.search(said)):
        return None
    title = changes[-1][-1]
    # A number that the user did not just say may be taken for a technical one.
    to_what = "" if re.search(r"\d", title) else f", to '{title}'"
    return Meaning(Kind.UNSURE, words=f"Shall I undo my last change{to_what}?")


def _request(said: str, answered: str, said_before: str, today: date) -> Meaning | None:
    calls = understand(said, answered, today)
    if answered.endswith(_ASKED_TITLE):
        if calls is None and len(said.split()) < 12:
            calls = understand(f"add {said}", "", today) or []
        asked = understand(said_before, "", today) or ()
        if calls and [call.tool_name for call in (*asked, *calls)] == ["add_task", "add_task"]:
            # "remind me tomorrow", and then what of: the day was said already.
            calls = [replace(calls[0], arguments={**asked[0].arguments, **calls[0].arguments})]
    return None if calls is None else Meaning(Kind.REQUEST, calls)


def _asked_back(said: str, answered: str, today: date) -> Meaning | None:
    if moved := _MOVE.fullmatch(plain_request(said)):
        return Meaning(Kind.UNSURE, words=f"Which day shall I move '{moved['task']}' to?")
    guess = _guess(said, answered, today)
    if len(guess) == 1 and guess[0].tool_name == "delete_task":  # the tool asks itself
        return None if OBJECTS.search(said) else Meaning(Kind.REQUEST, guess)
    asked = [
        _QUESTIONS[call.tool_name].format_map({"title": "", "task": "", **call.arguments})
        for call in guess
        if call.tool_name in _QUESTIONS
    ]
    is_clear = len(asked) == len(guess) and not re.search(r" '(?:it)?'(?!\w)", " ".join(asked))
    is_clear = is_clear and (len(guess) < 2 or not any(is_doubtful(call, said) for call in guess))
    return Meaning(Kind.UNSURE, words=f"Shall I {' and '.join(asked)}?") if asked and is_clear else None


def _guess(said: str, answered: str, today: date) -> Sequence[RequestedCall]:
    """What a message may ask for: it is asked back before anything is done."""
    reading = read(said, answered, today)
    if reading.calls:
        return reading.calls
    text = plain_request(said).rstrip("?")
    if _TO_US.match(text):
        return ()
    certain = _HEDGE.sub("", text)
    meant = _INTENT.sub("", certain)
    if (
        meant != certain
        or (begins_with_deed(meant) and not _IS_COMMAND.match(meant))
        or _is_dated(meant, today)
    ):
        return understand(f"add {meant}", "", today) or ()
    if certain == plain_request(said):
        certain = _SOMEBODY.sub("I ", certain, count=1)
    return understand(certain, answered, today) or () if certain != plain_request(said) else ()


def _errand(said: str, answered: str, today: date) -> Meaning | None:
    """What is to be done, if it is not for an assistant to do and nothing else can be made of it: "wash the curtains"."""
    added: list[RequestedCall] = []
    for line in said.splitlines():
        text = plain_end(without_chatter(line))
        is_ours = _OURS.match(text) or mark(text, answered, KNOWN_TASKS.get(), today).mentions
        if " " not in text or not begins_with_deed(text) or is_ours or read(line, answered, today).calls:
            return None
        added += understand(f"add {text}", "", today) or [RequestedCall("add_task", {})]
    is_clear = all("title" in call.arguments for call in added) and not said.endswith("?")
    return Meaning(Kind.REQUEST, added) if is_clear else None


_OURS = pattern(
    r"(?:call|phone|ring|contact|book|order|reserve|send|email|mail|message|text|write|draft|draw|play|translate|find|show|look|research|check|open|start|switch|set|run|help|give|change|update|"
    r"cancel|clear|finish|decide|do|try|test|plan|schedule|discuss|talk|speak|reply|make (?:it|that|the|my|a (?:list|joke|poem|song|plan))|put|go|drop|bring|take)\b"
)


def _is_dated(text: str, today: date) -> bool:
    """Whether it is a few words and a date, as in "groceries tomorrow"."""
    timing = take_timing(text, today)
    is_short = (
        re.fullmatch(r"(?!(?:the|it|that|this|i|we|you)\b)[\w']+(?: [\w']+){0,3}", timing.rest) is not None
    )
    return timing.due is not None and is_short


def _answer_to_question(said: str, answered: str, said_before: str, today: date) -> Meaning | None:
    if asked := _ASKED_WHICH.search(answered):
        return _chosen(said, quoted(asked["options"]), _about(said_before, asked["said"], today))
    if answered.endswith(_ASKED_TASK) and understand(said, "", today) is None:
        return _completed(_about(said_before, "", today), plain_request(said))
    offered: Sequence[RequestedCall] = ()
    if asked := _ASKED_DELETE.search(answered):
        task = asked["task"] if "' and '" not in asked["task"] else f"'{asked['task']}'"
        offered = [RequestedCall("delete_task", {"task": task})]
    elif asked := _ASKED_BULK.search(answered):
        before = understand(said_before, "", today) or ()
        operation = asked["operation"].replace(" ", "_")
        offered = [call for call in before if call.arguments.get("operation") == operation]
        offered = offered or [RequestedCall("change_all_tasks", {"operation": operation})]
    elif asked := _ASKED_IF_MEANT.search(answered):
        meant = _completed(_about(said_before, asked["said"], today), asked["task"])
        offered = meant.calls if meant else ()
    elif asked := _ASKED_UNDO.search(answered):
        offered = [RequestedCall("undo_last_change", {"about": asked["task"]} if asked["task"] else {})]
    elif asked := _ASKED_WHETHER.search(answered):
        again = _asked_back(said_before, "", today)
        # A yes does what the question said, or nothing: the guess may have leant on what came before it.
        offered = _guess(said_before, "", today) if again and again.words == asked[0] else ()
    if _ASKED_DELETE.search(answered) and (other := _other_task(said, answered, said_before, today)):
        return other
    rather = _RATHER.fullmatch(said.strip()) if offered else None
    instead = understand(rather["instead"], answered, today) if rather and len(said.split()) > 2 else None
    if instead and not any(call in offered for call in instead):
        return Meaning(Kind.REQUEST, instead)
    return _decided(said, offered) if offered else None


def _decided(said: str, calls: Sequence[RequestedCall]) -> Meaning | None:
    words = plain_request(said)
    deed = str(calls[0].arguments.get("operation", calls[0].tool_name))
    if _YES.fullmatch(said.strip()) and (deed.startswith("delete") or not _DELETES.search(said)):
        return Meaning(Kind.REQUEST, calls)
    return Meaning(Kind.DECLINED) if _NO.fullmatch(words) or is_taken_back(said) else None


_DELETES = pattern(r"\b(?:delete|remove)\b")
_RATHER = pattern(
    r"(?:(?:hmm+|oh|no|nope|nah|actually|wait|never ?mind|stop|(?:please )?(?:don't|do not)(?: delete| remove| do)?(?: it| that| them)?|i(?:'ve)? changed my mind|"
    r"just|only|rather|instead|keep it|but)\b[,.!; ]*)+(?P<instead>\w.+)"
)
"""Something else in place of what was asked back."""


def _chosen(said: str, options: Sequence[str], request: RequestedCall | None) -> Meaning | None:
    """The ambiguous request, with the task that was chosen."""
    words = plain_request(said).strip("'\"“”").casefold()
    place = ordinal(words, options)
    if place is None:
        found = [n for n, option in enumerate(options) if words in option.casefold()]
        bare = [re.sub(r" \([^()]*\)$", "", option).casefold() for option in options]
        exact = [n for n, option in enumerate(bare) if option == words]
        place = exact[0] if len(exact) == 1 else found[0] if len(found) == 1 else None
    if place is None:
        return Meaning(Kind.DECLINED) if _NO.fullmatch(words) else None
    return _completed(request, options[place])


def _about(said_before: str, task: str, today: date) -> RequestedCall | None:
    """The request that this task was asked about."""
    calls = understand(said_before, "", today) or ()
    named = [call for call in calls if call.arguments.get("task") == task]
    return next(iter(named), calls[0] if len(calls) == 1 else None)


def _completed(request: RequestedCall | None, task: str) -> Meaning | None:
    """The ambiguous request, about this task."""
    if request is None:
        return None
    return Meaning(Kind.REQUEST, [replace(request, arguments={**request.arguments, "task": task})])
