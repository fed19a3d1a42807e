"""What a message asks for: its sentences, their clauses, and what each refers back to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import permutations
from typing import NamedTuple

from msgspec.structs import replace

from maverick.chat.matching import KNOWN_TASKS, meaningful
from maverick.chat.offline.asides import cores, is_all, is_echo, is_lost
from maverick.chat.offline.corrections import ABOUT, HESITATION, TO_COME, follow_up, is_taken_back, revised
from maverick.chat.offline.dates import find_date, take_timing, when_last, without_old_date
from maverick.chat.offline.doubts import is_doubtful, is_left_out
from maverick.chat.offline.grammar import OBLIGED, UNTIMED, clauses, is_question, read_sentence, small_talk
from maverick.chat.offline.mentions import mark
from maverick.chat.offline.statements import Statement, read_statement
from maverick.chat.offline.titles import MEANT
from maverick.chat.offline.wording import (
    QUOTED,
    begins_with_deed,
    pattern,
    plain_request,
    quoted,
    take_priority,
)
from maverick.providers.offline import RequestedCall

_SENTENCE_END = pattern(
    r"(?<=[.!?…])(?<!^\d\.)(?<!\b(?:Dr|Mr|Ms|St|No|vs)\.)(?<!\bMrs\.)(?<!\bProf\.)(?<!\b[a-z]\.)\s+(?=\S)|\n+"
)
_CORRECTED = pattern(
    r"(?P<first>.+?)[,.;–-]*\s+(?:(?:no|oh|sorry|wait|actually)[,.! ]+)*(?:no wait|wait no|no actually|actually no|i mean|i meant|or rather|scratch that|sorry)[,.: ]+"
    r"(?P<instead>.+)"
)
_PUT_DOWN = re.compile(
    r"(?P<what>.+?)(?:[,.;!–-]+\s*|\s+(?=(?:please|pls|can you|could you|so) |add(?: (?:it|that|this|both))?[.! ]*$))(?:so |and |please |pls |can you |could you |would you |(?:if|would) you (?:would )?be so kind as to |just |do |maybe |also )*"
    r"(?:(?:put|write|note|add|jot|stick|pop|chuck|throw)(?: (?:that|it|this|both|them|those|these))?(?: down| (?:on|to|in)(?: there| (?:(?:my|the) )?(?:\w+ )?list)?| as an? (?:new )?(?:task|to-?do|reminder))*"
    r"|(?:remind|remember) me(?: of (?:it|that))?|track(?: (?:it|that|this))?|make (?:a )?note(?: of (?:it|that|this))?|(?:make|create|set|add) (?:me )?an? (?:task|reminder|note|to-?do)(?: (?:of|for|about) (?:it|that|this))?)"
    r"(?: for me| please| pls| thanks|,? (?:would|will|can) you)*(?P<when>,? [\w ]+?)?(?: please| pls| thanks)*(?:,? no (?:due )?(?:date|deadline|rush|hurry)(?: yet)?)?[.!? ]*",
    re.IGNORECASE | re.DOTALL,
)
"""A request to write down what was just said."""
_OBLIGATION = pattern(
    r".*\b(?:need to|needs to|have to|must|should like to|should|got to|gotta|forg[eo]t(?:ting)? to|(?:supposed|told|asked|agreed|want|would like|plan) to|promised(?: \w+)? (?:to|i'd|i would)|(?:necessary|important|vital) (?:to|that (?:i|we)))\s+(?=\w)"
    r"|(?:we're|we are|i'm|i am|i've|we've)(?: nearly| almost| completely| all)? (?:run(?:ning)? )?(?:out of|low on) (?!(?:the|it|here|town|time|luck|energy|ideas|patience|breath|order|control|touch|date)\b)"
    r"|(?:the |my |our )?\w+ (?:wants|needs(?! \w+ing\b)|expects|asked for|asks for|is asking for) (?:me to )?"
    r"|(?:(?:ok|okay|so|oh|hey)[, ]+)*(?:(?:i|we|there)(?:'ve got| have| have got| need|'s| is)|is) (?:an? |some )?"
)
_IS_DUE = pattern(r"(?:'s| is| are)(?= (?:due|on|by|at)\b)")


def _put_down(said: str, answered: str, today: date) -> str:
    """What is to be written down, as a request: "I have a meeting on Monday, please add it"."""
    if not (down := _PUT_DOWN.fullmatch(said)) or is_question(down["what"]) or quoted(said):
        return said
    when = re.sub(r"^,? as (?=(?:high|low)\b)", ", ", down["when"] or "")
    if take_timing(take_priority(re.sub(r"^,? (?:as )?", "", when))[1], today).rest:
        return said  # "remind me on Monday to …" says something of its own
    if any(mention.is_clear for mention in mark(down["what"], answered, KNOWN_TASKS.get(), today).mentions):
        return said
    told = when_last(down["what"].strip(), today)
    what = _OBLIGATION.sub("", told, count=1)
    what = what if begins_with_deed(what) else _IS_DUE.sub("", what, count=1)
    is_deed = (what != told or _AS_TASK.search(said)) and begins_with_deed(what)
    noted = _read_clauses(down["what"], "", today)
    are_new = noted.is_certain and {call.tool_name for call in noted.calls} == {"add_task"}
    if are_new and not (is_deed and len(noted.calls) == 1):
        return f"{down['what']}{when}"
    what = re.sub(r" from me\b|,? again\W*$", "", what, flags=re.IGNORECASE)
    due, _, rest = take_timing(what, today)
    if _BOTH.search(said) and due and begins_with_deed(rest):
        return f"add {rest}, both for {due}"
    title = _NAMES.sub("", rest)
    is_plain = len(title.split()) < 12 and (is_deed or not _NO_NOTE.search(title))
    return f"add {what}{when}" if is_plain else said


_NAMES = re.compile(r"\b[A-Z]\w* and (?=[A-Z])|\ban? \w+ (?:change|move|list|show|set)\b")
_BOTH = pattern(r"\badd (?:both|them)\W*$")
_AS_TASK = pattern(
    r"\bas an? (?:new )?(?:task|to-?do|reminder)\W*$|\b(?:on|to|in) (?:my|the) (?:\w+ )?list\W*$"
)
_NO_NOTE = pattern(
    r"\b(?:i|we|you|he|she|it|they|needs|is|are|was|were|am|be|been|will|would|can|could|has|have|had|wants|asked|says|said|told|comes|coming|gets|got|goes|going|leaves|arrives|starts|me|not|no|\w+n't|what|when|why|who|how|if|that|this|them|i'm|it's|i'll|did|do|does|"
    r"less|more|make|set|ugh|so|very|really|too|wow|lol|omg|tired|busy|sick|rain\w*|weather|sunny|hot|cold|happy|good|nice|great|enjoy|hope|thanks|thank(?!-)|sorry|yesterday|ago|last|see|love|hate|bye|hello|hi|yes|yeah|ok|okay|maybe|undo|delete|remove|mark|move|push|"
    r"change|rename|done|finished|show|list|tell|complete|cancel|postpone|reschedule|wait|actually|instead|also|and)\b|\?"
)
"""Words that a note of a few words does not have: it says more, or something else."""


def _noted(said: str, answered: str, today: date) -> Sequence[RequestedCall] | None:
    """A few words with a date or a priority, as people write notes: "dentist for Leo, Tuesday 3pm"."""
    text = plain_request(said)
    priority, rest = take_priority(text)
    timing = take_timing(rest, today)
    words = timing.rest.split()
    if not (priority or timing.due) or not 0 < len(words) < 9 or _NO_NOTE.search(timing.rest):
        return None
    if mark(timing.rest, answered, KNOWN_TASKS.get(), today).mentions:
        return None
    if timing.due in (None, today) and not begins_with_deed(timing.rest):
        return None
    is_part = re.match(r"(?:the|to|for|on|by|it|at|in|of|a)\b|\W", timing.rest, re.IGNORECASE)
    return None if is_part or ABOUT.match(answered) else read_sentence(f"add {text}", "", today)


_TOPIC = pattern(r"(?:the|my) (?P<task>\w+(?: \w+){0,2})\s*\?")
"""What the next sentence is about: "The plants? Watered them."."""
_AS_FOR = pattern(
    r"(?:as for|regarding|concerning|about) (?:the|my) (?P<task>\w+(?: \w+){0,2})[:,] (?P<rest>.+)"
)
_NOT_DONE = pattern(r"(?:i |we )?(?:didn't|did not|haven't|have not|couldn't|can't|won't|not yet|forgot)\b")
_NOT_YET = pattern(r"\b(?:not|still)\b|n't\b")
_BUT = pattern(r"\bbut\b")


class Reading(NamedTuple):
    """What a message asks for, as far as it is understood."""

    calls: Sequence[RequestedCall]
    is_certain: bool
    topic: str = ""
    """The task that it was about last, though nothing may be asked for."""


def understand(said: str, answered: str, today: date) -> Sequence[RequestedCall] | None:
    """The tool calls a message asks for; ``None`` if it is not about tasks, or if that is not certain."""
    whole = read(said, answered, today)
    if whole.is_certain and whole.calls and not is_lost(whole.calls):
        return whole.calls
    meant = HESITATION.sub("", said) if ABOUT.match(answered) else said
    for core in cores(meant, today):
        about = f"Updated! '{core.task}'{TO_COME}" if core.task else answered
        reading = read(core.text, about, today)
        if reading.is_certain and reading.calls and is_all(core, reading.calls, said, today):
            return reading.calls
    return whole.calls if whole.is_certain and whole.calls else None


def read(said: str, answered: str, today: date) -> Reading:
    """What a message asks for: remarks before a request do not matter, those behind it make it uncertain."""
    if MEANT.fullmatch(said) and (change := follow_up(said, answered, today)):
        return Reading(change, is_certain=True)
    whole = said
    if re.match(r"[^\n]*:\s*\n", said):  # what stands below a heading is a list
        said = re.sub(r"\n+(?=[^\W\d])", "\n- ", said)
    said = _put_down(_ITEM.sub(", ", _FIRST_ITEM.sub(r"\1: ", said)), answered, today)
    if topic := _AS_FOR.fullmatch(said):
        answered, said = f"Updated! '{topic['task']}'{TO_COME}", topic["rest"]
    calls: list[RequestedCall] = []
    is_certain = True
    about = answered
    begin = 0  # where the first sentence is that asks for something
    for sentence in _sentences(said):
        if topic := _TOPIC.fullmatch(sentence):
            about = f"Updated! '{topic['task']}'{TO_COME}"
        elif calls and is_taken_back(sentence):
            calls, is_certain = [], False
        elif small_talk(sentence) is None:
            found = _sentence(sentence, about, today)
            is_other = found.topic and found.topic not in {call.arguments.get("task") for call in calls}
            is_remark = not found.calls and (
                _is_remark(sentence, today) or bool(is_other and _NOT_YET.search(sentence))
            )
            is_certain = is_certain and not is_left_out(found.calls, sentence, today)
            is_certain = is_certain and (found.is_certain or is_remark or not (calls or found.calls))
            if found.calls and not calls:
                begin = max(0, whole.find(sentence))
            calls = _merged(calls, [_with_thing(call, about) for call in found.calls])
            about = _said_of(found.calls) or (found.topic and f"Updated! '{found.topic}'{TO_COME}") or about
    calls = _said_once(calls, whole)
    if any("title" in call.arguments for call in calls):  # "add something: I need to …"
        nothing = RequestedCall("add_task", {})
        calls = [call for call in calls if call != nothing]
    is_certain = is_certain and not is_left_out(calls, whole, today, begin) and not _is_echoed(calls)
    return Reading(
        # The list is shown as it is after the changes.
        sorted(calls, key=lambda call: call.tool_name == "list_tasks"),
        is_certain and not any(is_doubtful(call, said) for call in calls),
    )


def _is_echoed(calls: Sequence[RequestedCall]) -> bool:
    """Whether a new task is only a word of another."""
    titles = [str(call.arguments.get("title", "")) for call in calls if call.tool_name == "add_task"]
    return any(is_echo(title, other) for title, other in permutations(titles, 2))


def _said_once(calls: list[RequestedCall], said: str) -> list[RequestedCall]:
    """The calls without a task that is told first, and then asked for in other words: "I need to …. Put '…' on the list"."""
    titles = [str(call.arguments.get("title", "")) for call in calls if call.tool_name == "add_task"]
    if len(titles) != 2 or titles[1] not in quoted(said) or titles[0] in quoted(said):
        return calls
    first, second = (frozenset(meaningful(title)) for title in titles)
    is_same = first and second and (first <= second or second <= first)
    return [call for call in calls if not (is_same and call.arguments.get("title") == titles[0])]


def _sentences(said: str) -> list[str]:
    """The sentences of a message; what is quoted is in one of them."""
    inside = [found.span() for found in QUOTED.finditer(said)]
    gaps = [found.span() for found in _SENTENCE_END.finditer(said)]
    gaps = [(end, start) for end, start in gaps if not any(a < end < b for a, b in inside)]
    starts, ends = [0, *(start for _, start in gaps)], [*(end for end, _ in gaps), len(said)]
    return [said[start:end] for start, end in zip(starts, ends, strict=True)]


def _is_remark(sentence: str, today: date) -> bool:
    """Whether a few words ask for nothing, and put nothing in doubt."""
    if _NO_MATTER.fullmatch(sentence):
        return True
    is_plain = len(sentence.split()) < 8 and not (begins_with_deed(sentence) or _IN_DOUBT.search(sentence))
    return is_plain and find_date(sentence, today) is None and take_priority(sentence)[0] is None


_NO_MATTER = pattern(
    r"(?:there(?:'s| is) |i(?:'ve)? (?:have |had |got )?|we (?:have |had )|it's |absolutely )?no (?:date|deadline|due date|rush|hurry|time|stress|pressure|big deal|excuses)\b(?: \w+){0,4}\W*"
)
_IN_DOUBT = pattern(
    r"\b(?:not?|never|nobody|nothing|\w+n't|still|yet|but|if|unless|maybe|perhaps|think|guess|almost|nearly|half|only|except|actually|wait|"
    r"instead|also|and|or|please|can you|could you|need|must|should|have to|will|another|other|every|each|daily|weekly)\b|\?"
)
_ITEM = re.compile(r"\s*\n\s*(?:[-*•]|\d+[.)])\s*|(?<=\w)\s+[2-9]\)\s+")
_FIRST_ITEM = re.compile(r"^([^\n]*?[^\n:]):?\s*\n\s*(?:[-*•]|1[.)])\s*")
_THAT = pattern(r"\b(?:it|that|this)\b")


def _sentence(said: str, answered: str, today: date) -> Reading:
    is_plain = not _CORRECTED.fullmatch(said)
    said = said if quoted(said) else without_old_date(said)
    if not is_question(said) and (change := revised(said, answered, today)):
        return Reading(change, is_certain=True)
    if is_question(said) and (asked := _asked_about(said, answered, today)):
        return asked
    stated = _stated(said, answered, today) if is_plain else None
    if stated is not None and stated.calls:
        return Reading(*stated)
    reading = _read_clauses(said, answered, today)
    if not reading.calls and not is_question(said) and (noted := _noted(said, answered, today)):
        return Reading(noted, is_certain=True)
    if stated is None:
        return reading
    # A task on the list is mentioned: what sounds like a new one may well be that.
    is_new = any(call.tool_name == "add_task" for call in reading.calls)
    return Reading(reading.calls, reading.is_certain and not is_new, stated.topic)


def _asked_about(said: str, answered: str, today: date) -> Reading | None:
    """A question about one task on the list."""
    mentions = mark(said, answered, KNOWN_TASKS.get(), today).mentions
    titles = {task.title for mention in mentions for task in mention.tasks if mention.is_clear}
    is_clear = all(mention.is_clear for mention in mentions) and not _CHANGES_ON_REQUEST.search(said)
    if len(titles) != 1 or not is_clear:
        return None
    (title,) = titles
    return Reading([RequestedCall("list_tasks", {"about": title})], is_certain=True, topic=title)


_CHANGES_ON_REQUEST = pattern(
    r"\b(?:what|which)\b.*\b(?:left|else|other|besides)\b|\bhow (?:do|can) i\b|\bundo\b"
)


def _read_clauses(said: str, answered: str, today: date) -> Reading:
    if corrected := _CORRECTED.fullmatch(said):
        return _instead(corrected["first"], corrected["instead"], answered, today)
    calls: list[RequestedCall] = []
    is_whole = True
    about = answered
    parts = clauses(said)
    for place, part in enumerate(parts if len(parts) > 1 and not is_question(said) else ()):
        if calls and _is_reason(part, said, calls):
            continue
        found = follow_up(part, about, today) or _clause(part, about, today)
        is_told = not calls and bool(mark(part, "", KNOWN_TASKS.get(), today).mentions)
        is_remark = not (calls or is_told) and _is_remark(part, today) and not _THAT.search(said)
        is_whole = is_whole and (found is not None or is_remark or _NOT_DONE.match(part) is not None)
        is_told_why = _is_told_why(part, said) and OBLIGED.search(parts[place - 1])
        if found and is_told_why and [call.tool_name for call in calls] == ["add_task"]:
            # "I have to give a talk on Monday, add write the talk": it was said why, and when.
            is_whole = is_whole and _is_again(calls[0], found[0])
            calls, found = [], [replace(calls[0], arguments={**calls[0].arguments, **found[0].arguments})]
        calls = _merged(calls, [_with_thing(call, about) for call in found or ()])
        about = _said_of(found or ()) or about
    if not (calls and (is_whole or _BUT.search(said))):
        whole = follow_up(said, answered, today) or read_sentence(said, answered, today)
        calls, is_whole = (list(whole), True) if whole is not None else (calls, False)
    return Reading(calls, is_whole)


def _is_told_why(part: str, said: str) -> bool:
    """Whether what stands before a request for a task may be the reason for it."""
    return f" so {part}" in said or (f", {part}" in said and UNTIMED.match(part) is not None)


def _stated(said: str, about: str, today: date) -> Statement | None:
    tasks = KNOWN_TASKS.get()
    return None if is_question(said) else read_statement(plain_request(said), about, tasks, today)


def _clause(part: str, about: str, today: date) -> Sequence[RequestedCall] | None:
    stated = _stated(part, about, today)
    is_certain = stated and stated.calls and stated.is_certain
    return stated.calls if stated and is_certain else read_sentence(part, about, today)


def _is_reason(part: str, said: str, calls: Sequence[RequestedCall]) -> bool:
    """Whether a clause says why, as in "reopen it, I need to read it again": it has no task of its own."""
    if not re.match(r"(?:i |we )?(?:need|have|must|got) to\b", part, re.IGNORECASE):
        return False
    is_behind_change = calls[-1].tool_name in ("update_task", "delete_task") and f", {part}" in said
    return is_behind_change or re.search(r"\b(?:it|them|that|one)\b", part, re.IGNORECASE) is not None


def _instead(first: str, instead: str, answered: str, today: date) -> Reading:
    """A request that is corrected in the same breath."""
    before = _sentence(first, answered, today)
    if re.search(r"\bnext week\b", first, re.IGNORECASE):  # another day of it
        instead = re.sub(r"^(?:on )?(\w+day)$", r"\1 next week", instead, flags=re.IGNORECASE)
    if not before.calls:
        return _sentence(instead, answered, today)
    about = _said_of(before.calls)
    if change := follow_up(instead, about, today):
        return Reading(_merged(before.calls, change), before.is_certain)
    if other := read_sentence(instead, about, today):
        return Reading(other, is_certain=True)
    guess = read_sentence(f"add {instead}", "", today) if before.calls[0].tool_name == "add_task" else None
    is_whole = before.is_certain and begins_with_deed(instead) and not find_date(first, today)
    return Reading(
        guess or (), is_whole and begins_with_deed(str(before.calls[0].arguments.get("title", "")))
    )


def _with_thing(call: RequestedCall, about: str) -> RequestedCall:
    """A task to add that has to do with the one before: "send it" is "send the report"."""
    named = ABOUT.match(about)
    if call.tool_name != "add_task" or not named or not begins_with_deed(named["task"] or ""):
        return call
    title = re.sub(
        r"^(\w+) it\b", rf"\1 {named['task'].partition(' ')[2]}", str(call.arguments.get("title", ""))
    )
    return replace(call, arguments={**call.arguments, "title": title}) if title else call


def _said_of(calls: Sequence[RequestedCall]) -> str:
    """What will be answered to these calls, so that what follows can refer to it."""
    titles = [str(call.arguments.get("title") or call.arguments.get("task") or "") for call in calls]
    named = " and ".join(f"'{title}'" for title in titles if title)
    return f"Updated! {named}{TO_COME}" if named else ""


def _merged(calls: Sequence[RequestedCall], more: Sequence[RequestedCall]) -> list[RequestedCall]:
    """The calls, with what is said about a task in one call."""
    merged = list(calls)
    for call in more:
        if call in merged or _is_done_already(call, merged):
            continue
        place = next((n for n, each in enumerate(merged) if _is_same(each, call)), None)
        if place is None:
            merged.append(call)
        else:
            changes = {name: value for name, value in call.arguments.items() if name != "task"}
            merged[place] = replace(merged[place], arguments={**merged[place].arguments, **changes})
    return merged


def _is_done_already(later: RequestedCall, calls: Sequence[RequestedCall]) -> bool:
    """Whether a call says again what the one before it does: "I bought milk, mark it done", "it isn't done, put it back"."""
    if later.tool_name == "undo_last_change":
        return bool(calls) and calls[-1].arguments.get("completed") is False
    if later.tool_name != "complete_task" or len(calls) != 1 or calls[0].tool_name != "complete_task":
        return False
    said, again = (set(str(call.arguments.get("task")).lower().split()) for call in (calls[0], later))
    return said <= again or again <= said


def _is_again(earlier: RequestedCall, later: RequestedCall) -> bool:
    """Whether two tasks to add have to do with the same thing."""
    said, again = ({*meaningful(str(call.arguments.get("title")))} for call in (earlier, later))
    return bool(said & again) or "title" not in earlier.arguments


def _is_same(earlier: RequestedCall, later: RequestedCall) -> bool:
    if earlier.tool_name == later.tool_name == "add_task":
        said, again = (str(call.arguments.get("title")).lower().split() for call in (earlier, later))
        return {*said} - _ARTICLES == {*again} - _ARTICLES
    if later.tool_name != "update_task" or earlier.tool_name not in ("add_task", "update_task"):
        return False
    named = {earlier.arguments.get("title"), earlier.arguments.get("task")}
    return later.arguments.get("task") in named and not {"completed", "postpone_days"} & {*later.arguments}


_ARTICLES = frozenset(("a", "an", "the", "my"))
