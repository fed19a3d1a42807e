"""The grammar of the offline task model: sentences about task lists, and what each asks for.

Patterns are tried in order; the first that matches decides.
"""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from functools import cache

from msgspec.structs import replace

from maverick.chat.matching import BASE_FORMS
from maverick.chat.offline.additions import Heard
from maverick.chat.offline.dates import find_date, take_timing, when_last
from maverick.chat.offline.readings import READERS
from maverick.chat.offline.spelling import corrected
from maverick.chat.offline.wording import (
    pattern,
    plain_request,
    quoted,
    several,
    without_chatter,
    without_pictures,
)
from maverick.providers.offline import RequestedCall


class Kind(StrEnum):
    """What kind of message it is."""

    REQUEST = "request"
    """Something to do with the tasks."""
    GREETING = "greeting"
    HELP = "help"
    THANKS = "thanks"
    GOODBYE = "bye"
    DECLINED = "declined"
    """No to a question."""
    UNSURE = "unsure"
    """Perhaps something to do with the tasks: it is asked back."""
    UNSUPPORTED = "unsupported"
    """Not about tasks, or not understood."""


def small_talk(said: str) -> Kind | None:
    """What kind of small talk a message is, if it is nothing else."""
    remark = re.sub(r"[\s,.!?…]+", " ", said.replace("’", "'")).strip()
    return next((Kind(kind) for kind, talk in _SMALL_TALK if _pattern(talk).fullmatch(remark)), None)


def read_sentence(said: str, answered: str, today: date) -> list[RequestedCall] | None:
    """The tool calls a sentence asks for, or ``None`` when it is not about tasks. A question asks for no change."""
    text = when_last(plain_request(said), today)
    may_change = not is_question(said)
    remark = "" if quoted(said) else _REMARK.sub("", text)
    readings = (
        text,
        _command_in(text, today),
        corrected(text, _COMMANDS),
        without_pictures(text),
        remark,
    )
    for attempt in dict.fromkeys(readings):  # most of them are the text as it is
        found = _one(attempt, answered, today, may_change=may_change)
        if found is not None:
            return found
    return None


def is_question(said: str) -> bool:
    """Whether something is asked, rather than asked for: "could you add milk?" is a request."""
    said = re.sub(r"\s+", " ", said.replace("’", "'")).strip()
    return _ASKS.match(plain_request(said)) is not None or (
        said.endswith("?") and not _ASKS_FOR.match(without_chatter(said)) and not quoted(said)
    )


def _command_in(text: str, today: date) -> str:
    """What is asked for after a remark, as in "I was there, so delete it"; what the remark is about stands for "it"."""
    found = _COMMAND.match(text)
    if found is None:
        return ""
    if found[2]:
        # How often was not understood, or it would not stand before the request any more.
        return "" if re.match(r"(?:every|each)\b", text, re.IGNORECASE) else found[2]
    if UNTIMED.match(found[1]) and not find_date(found[1], today):
        timing = take_timing(text[: found.start(1)], today)
        day = find_date(text[: found.start(1)], today)
        if timing.note or (day and not OBLIGED.search(text[: found.start(1)])):
            return ""  # it was said before when
        if day:
            return f"{found[1]} by {day}"
    about = _ABOUT.match(text[: found.start(1)])
    named = about and (about["thing"] or about["lacking"])
    return re.sub(r"\b(?:it|that|them)\b", named, found[1], count=1) if named else found[1]


def _one(text: str, answered: str, today: date, *, may_change: bool) -> list[RequestedCall] | None:
    heard = Heard(plain_request(text), answered, today)
    if may_change and (but := _EXCEPT.fullmatch(heard.text)):
        found = _one(f"{but['all']}{but['done'] or ''}", answered, today, may_change=True) or []
        if not found or found[0].tool_name != "change_all_tasks":
            return None
        return [replace(found[0], arguments={**found[0].arguments, "except_tasks": several(but["kept"])})]
    for name, sentence in _SENTENCES:
        if may_change or name in _LOOKING:
            match = _pattern(sentence).fullmatch(heard.text)
            if match is not None and (calls := READERS[name](heard, match)) is not None:
                return calls
    return None


_ASKS = pattern(
    r"(?:did (?:i|we|you|he|she|they|it|anyone)|does|has(?! to\b)|had|is|are|was|were|am|should|shall|what|what's|when|where|who|which|why|how|have (?:i|we|you)|"
    r"do (?:i|we|you|they)|will (?:i|we|it)|if|whether|(?:remind|tell) me (?:what|when|which|who|how|if|whether))\b|.*, (?:is|are|was|were|did|have|has|do|does)n't (?:it|they|i|we)$"
)
_ASKS_FOR = pattern(
    r"(?:wait[,.! ]+)*(?:can|could|would|will) (?:you|u|we|i|it be possible)\b|.*\b(?:please|pls|(?:can|could|would|will) you)\b|(?:can|could) (?:it|that|this)(?: one)? be (?!that\b)|(?:can|could) .+ be \w+ed\b|let(?:'s| me)\b"
)
_COMMANDS = re.findall(
    r"\w+", "add remind remember delete remove complete mark finish show rename postpone reschedule"
)
_VERBS = "add|delete|remove|complete|mark|tick|check|cross|show|list|rename|undo|remind|move|set|make|clear|close|put|stick|bump|push|take|reopen"
_COMMAND = pattern(
    rf".*(?:[,;:.!-]\s*(?:so |and |please |pls |just |you can |(?:can|could|would|will) you )*|\s(?:can|could|would|will) you (?:please |just )*)"
    rf"((?:{_VERBS}|scrap|drop|cancel|postpone|reschedule)\b.+)"
    r"|(?!.*\b(?!(?:you|i|we)\b)\w+(?:'ll| will| always| usually| has to| should| must)(?: \w+)? remind)(?!.*(?:\bno|\bnot|n't|\bnever|\bstop|\bdid|\bwhy)\b.*\bremind).*?\b(remind me (?:to|about|of|that)\b.+)"
)
OBLIGED = pattern(r"\b(?:i|we)(?:'m| am|'re| are)? (?:need|have|must|got|supposed) to\b|\bgotta\b")
UNTIMED = pattern(r"(?:add|put|stick|note)\b")
_REMARK = pattern(
    r"(?<=\w), (?:because|since|we|i|i'm|we're|he|she|they|there|there's|it's)\b"
    r"(?!.*\b(?:\w+n't|not|no|but|if|unless|think|guess|hope|maybe|probably|almost|should|need|must|have to|will|later|still)\b).+$"
)
"""A reason behind what is said, which says nothing of its own about the list."""
_ABOUT = pattern(
    r"(?!(?:i|we|you|he|she|they|it|that|this|there)\b)(?:the |my )?(?P<thing>\w+(?: \w+){0,3}?)(?:'s| is| isn't| are| aren't| was| has)\b"
    r"|.*\b(?:out of|low on|need(?: some| more)?) (?P<lacking>\w+(?: \w+)?)\W*$"
)
_JOINT = pattern(
    rf"(?:(?:(?<!task)(?<!todo)(?<!to-do)(?<!minder)[,;.:]\s*|\s+)(?:and|then|and then|also|but|plus|so)\s+|(?<!task)(?<!todo)(?<!to-do)(?<!minder)[,;.:]\s*)(?:please\s+|also\s+|then\s+|now\s+|just\s+)*"
    rf"(?=(?:(?:{_VERBS}|postpone|reschedule|prioriti[sz]e|call it)\b|(?:(?:on )?\w+day |tomorrow )?(?:i )?(?:need|have|must|got) to\b"
    r"|(?:i(?:'ve| have)?|it's|it is|they're)\b|(?:due|high priority|low priority)\b|[^,;]{2,40}?(?:->|→)))|,?\s+but\s+(?!not\b)"
)
_EXCEPT = pattern(
    r"(?P<all>.*\b(?:all|everything|every)\b.*?),? (?:except(?: for)?|but(?: not)?|apart from|other than|besides|excluding) "
    r"(?P<kept>.+?)(?P<done> (?:as |to )?(?:done|complete|completed|finished))?"
)


def clauses(sentence: str) -> list[str]:
    """The requests in a sentence, if it has several; quotation marks keep words together."""
    text = plain_request(sentence)
    is_quoted = quoted(text) and _JOINT.search(" ".join(quoted(text)))
    return [text] if is_quoted else [part for part in _JOINT.split(text) if part]


_PARTS = {
    "done": "(done|complete|completed|finished|ready)",
    "tasks": "(tasks?|items?|todos?|to-dos?|things|ones)",
    "all": "(all|everything|every (task|single task|one)|all of (them|it)|each task|(the|my) [whole |entire ]list)",
    "of_mine": "[ [of ](my|the)][ [open |pending ]{tasks}]",
    "remove": "(delete|remove|erase|drop(?! (off|by|in)\\b)|discard|scrap|clear[ out| up]|get rid of|wipe|throw away|forget[ about]"
    "|cancel|trash|del|rm|bin)",
    "tick": "(mark|set|tick|check|cross|flag)",
    "postpone": "(move|postpone|prepone|push|reschedule|delay|shift|defer|bring|pull|put off|snooze)",
    "did": "(done|finished|completed|did)",
    "note": "(add|create|insert|enter|jot down|write down|note down|note|put down|record|save|log"
    "|make [me ]a note[ of]|take [a ]note[ of]|set [a ]reminder|include)",
    "remind": "((remind|remember) me|remember|(don't|do not) [let me ]forget|make sure[ [that ](i|we)]|(help|make) me remember|i need reminding)",
    "state": "(open|pending|completed|finished|done|overdue|urgent|important|(high|medium|low)(-| )priority|remaining|late)",
    "past": rf"((?!(need|feed|seed|speed|indeed|shed|bed|red|embed)\b)\w\w+ed|{'|'.join(BASE_FORMS)})",
    "settled": "(sorted|handled|taken care of|settled|dealt with|ticked off|out of the way|over and done with)",
    "deadline": "(due date|deadline|date)",
    "must": "((must not|mustn't|can't|cannot) forget[ to]|must|need to|have to|should|ought to|got to|gotta)",
    "deeds": "(add|delete|remove|complete|mark|tick|check|cross|rename|move|change|finish|touch|do (that|it|anything)|clear)",
    "task": "(?P<task>.+?)",
    "title": "(?P<title>.+)",
    "when": "(?P<when>.+)",
    "what": "(?P<what>.+)",
    # What stands before "is done" and the like, when it is no question and no request of another kind.
    "subject": r"(?!(i|we|you|he|she|they|what|which|who|how|when|where|anything|nobody|no one|someone|somebody|everyone|it|that(?! \w+('s| is| are| was| has))|is|are|show|list|add|create|new|note|remind|remember|to-?do|tasks?)\b|.*\bwhat\b){task}",
}
"""The parts that sentences are made of."""
_PART = re.compile(r"\{(\w+)\}")


def _table(text: str) -> list[list[str]]:
    """The lines of a table: a name and a sentence in each."""
    return [re.split(r": +", line, maxsplit=1) for line in text.splitlines() if line and line[0] != "#"]


@cache  # compiled on use, since a chat is to be at its prompt before
def _pattern(sentence: str) -> re.Pattern[str]:
    """The pattern of a sentence, in which ``[…]`` may be left out, ``(a|b)`` is either, and ``{…}`` is a part."""
    while _PART.search(sentence):
        sentence = _PART.sub(lambda part: _PARTS[part[1]], sentence)
    sentence = re.sub(r"\((?!\?)|\[", "(?:", sentence.replace("]", ")?"))
    return pattern(sentence)


_LOOKING = ("list", "look_up")
"""The readers that change nothing."""
_GRAMMAR = r"""
# Undoing.
undo:           (?!.*(n't|not|never|no need to|without)\b.*\bundo)(?!(add|create|new|remind|remember|put|rename|delete|complete|mark)\b)(.*\b|)undo\b(,? (it|that|this|those|both|them|please|sorry|again|now|the|my|your|last|one|change|thing|action|step|command|request|deletion|addition|completion|delete|what|i|you|just|did))*[,? (i|we|because|since|it's|it was|that's|that was|not|wrong) (?!(?:.*\b)(add|remind|delete|remove)\b).*|, (already|got|there's|he|she|they|my) (?!(?:.*\b)(add|remind|delete|remove)\b).*]
undo_change:    undo [what you did to |the change to |[the ](deletion|completion|addition|renaming) of |(adding|deleting|removing|completing|renaming|moving) ]{task}
undo:           [(oops|sorry|wait|no|nah|nope|hmm|oh|damn|argh|ugh|actually|ah)( no| dear)?,? ][i (need|want|meant to keep) (it|that)[ after all], ][i |please |can you |could you ](take|bring|put|get|change|give[ me]|want|need) (that|it|them|this|that one) back[ again|[ on] the list|,? please]
undo:           [(oops|sorry|wait|no|hmm|oh),? ](restore|revert|reverse|roll back|take back) (it|that|this|them|(the|my) last .*)
undo:           i (didn't|did not) mean (that|it|to[ do (that|it)])
add:            (note|memo|reminder) to self ?(:|,|-)? ?{what}
# Many at once.
delete_done:    {remove} [all [of ]][my |the ][already ]({done}|ticked|closed)[ {tasks}][ .*list]
delete_done:    {remove} (all|everything)[ [the ]{tasks}] (that|which|i)['s| is| are|'ve| have] .*{done}.*
delete_done:    {remove} what[ever]['s| is| i've| i have] {done}
delete_all:     {remove} {all}{of_mine}[ (from|on|off) .*list]
delete_all:     (empty|reset|start over with) (my|the) list
complete_all:   {tick}[ off] {all}{of_mine}[ off][ (as|to) {done}| {done}]
complete_all:   (complete|finish) {all}{of_mine}
complete_all:   i['ve| have| am|'m] (did|done|finished|completed)[ with] {all}{of_mine}
complete_all:   {all}{of_mine} (is|are) {done}
reopen_all:     (re-?open|unmark|uncheck) {all}{of_mine}
# One task, but which?
delete_which:   {remove}[ (a|one) [of my ]tasks?]
complete_which: (complete|finish|tick off|check off)[ (a|one) [of my ]tasks?]
# One task that is not on the list, as the tool will say.
reschedule:     {postpone} {task} [back |forward |out |off ](to|until|till|for|by) {when}
reopen:         (re-?open|un-?(mark|check|tick|complete)) {task}
complete:       {tick} {task} [off ][as |to |off as |off ][be ]{done}
complete:       (tick off|check off|cross off|cross out|strike off|mark off|tick|complete|close[ out]|finish[ up]) {task}
complete:       {subject}['s been|'s| is| are| has been| have been| was| were| got] [now |all |already |finally ]({done}|{settled})
complete:       [i['m| am|'ve| have| just| have just|'ve just] ][already ]{did} [with |doing ]{task}
rename:         rename {task} (to|as|into) {title}
delete:         {remove} {task}
# Looking.
look_up:        (did|have|has|had) (i|we|you) [already |ever ]{task}[ yet| already| today| yesterday]
look_up:        (is|are|was|were|has|have) [the |my ]{task} (been )?({done}|{past}|due|on (my|the) list|there)[ yet| already]
look_up:        [tell me ][do you know ]when('s| is| are| was| were| do i (need to|have to|gotta)| must i| should i| did i) {task}[ due]
look_up:        (do i have|have i got|is there|are there|what about|how about|anything|something)[ (a|an|any|another)][ (task|tasks|thing|anything|something)][ (about|for|with|called|regarding|on)] (?!due\b){task}[ on (my|the) list]
look_up:        (find(?! out\b)|search|search for|look for|look up|where is|where's) {task}
list:           [my ](tasks?|to-?dos?|list|to-?do list)[ (due|for|with|without) (?!.*(:| (-|–) )).+]
list:           (show|list|display|view|see|print|read|give|tell|find)[ me][ all| again]\b.*
list:           overdue|late|pending
list:           (all|everything)[ [of ](my|the)][ {tasks}]
list:           [remind me ](what|which|how many|when)\b.*
list:           [is there |are there |is |are |do i have |have i [got ]|did i ](any|any ?thing|something)\b.*
list:           [all |my |only |just ][the |my ]{state}\b.*{tasks}
# Adding.
add:            (put|pop|stick) [in |down |on ](?P<what>(?='|\"|“|‘).+)
add_listed:     [(add|create|make|note|put|remind me|[i ]need|set[ up])\b ?]{what}
add_several:    [i {must} do ](two|three|four|five|six|\d|some|a few|several) (things|tasks|todos|jobs|chores|errands)[ to do][ (?P<when>(for|by|on) .+?|today|tomorrow|tonight)][ please] ?(:|,|-) ?(?P<what>.+)
add:            [i('d like| would like| want| need) to ]{note}[ that][ i {must}]\b ?:? ?(?P<what>.*)
add:            (make|set[ up]|start|open) (?P<what>[me ](a|an|another)\b.*\b(task|todo|to-do|to do|reminder|entry|item)\b.+)
add:            have (a|another) [new ](task|reminder) {what}
add:            something else (i|we) {must} do[ is][ to| ?:|,] {what}
add:            [a |another ][new ](task|to-?do|to do|item|reminder) ?[:|,|-|called|named] ?{what}
add:            [here's |here is ][a |the ][(new|next|another) ](one|entry|chore|job|errand)( ?:| -|,) {what}
add:            [a ]new ?:? ?{what}
add:            i('d like| would like| want| need) [to have ](a|another) [new ](task|to-?do|reminder|item|entry) ?[:|,|-] ?{what}
add:            [super |very |really ](?P<what>(urgent|important|high priority|low priority)[ (task|one|reminder)] ?(:|-) ?.+)
add:            (another|one more|the (next|other))( thing[ [that ](i|we) {must} do][ to do][ for (the|my) list][ is][ to| ?:|,| -]| ?:) {what}
add_placed:     (put|stick|pop|chuck|throw|pencil|slot|squeeze|get|jot) {what} (in|down|on)[ (?P<when>(for|on|by|at|as) .+)]
add_put:        (put|pop|stick|chuck|throw|pencil|slot) [in |down |on ]{what}
add:            [i('d| would) like to |i want to ]be reminded (to|about|of) {what}
add:            i ?(keep forgetting|always forget|still need|nearly forgot|almost forgot|mustn't forget|can't forget|better|had better|'d better|am supposed|'m supposed) [to ]{what}
add:            (put|place|stick|throw|pop|add) (on|onto|to) (my|the|our) [to-?do ]list[:|,] {what}
add:            (put|place|stick|throw|pop|drop|stuff|get) (?P<what>.+ (on|onto|in|into|to) ((my|the|our) (\w+ )?(list|tasks|to-?dos?)|there)\b.*)
add_whole:      remind (?!(me|us|to|that|about|of|on|at|every|myself)\b).+
add:            {remind}[ to| 2| about| of| that i {must}|:] {what}
add:            (i|we)['ve| have] [really |also |probably ]{must} [really |probably ](?!(know|ask|see)\b|have {past}\b){what}
add:            (gotta|got to|must|need to|have to) {what}
schedule:       (schedule|plan) {what}
add_deed:       {what}
"""
"""What is understood: a sentence a line, after the name of its reader, the more telling ones first."""
_SENTENCES = _table(_GRAMMAR)
_SMALL_TALK = _table(r"""
greeting: (hi|hiya|hello|hey|yo|howdy|hola|greetings|(good )?(morning|evening)|good (morning|afternoon|evening|day))( there| again| maverick| you| everyone)*( how are you( doing)?( today)?)?
greeting: how are you( doing)?( today)?
help:     (i need |can you |could you |please )*help( me)?( please)?|what (can|could|do|else can) (you|i) (do|say|ask)( here| for me)?
help:     how (does|do) (this|it|you|i use this) ?(work)?
help:     how (do|can|would|should) i (use|start|{deeds}|undo|postpone|list)\b.*
help:     what are you( able to do)?|who are you|what is this|examples?|commands?
thanks:   (many |ok |okay |great |cool |no |nice |perfect |awesome )*(thanks|thank you|thx|ty|cheers)( (a lot|so much|very much|again|a bunch|for .*|mate|maverick|that's .*|you.*|bye))*
thanks:   ((great|perfect|nice|cool|good|awesome|ok|okay|well done|all right|alright|lol|haha|wow|sorry|got it|sounds good|great job|good job) ?)+
thanks:   (no )?(that's|that is|that will be) (all|it|everything)( for now| thanks)?
thanks:   nothing( else)?|no
bye:      (good ?)?bye( bye| for now)?|see (you|ya)( later| soon| tomorrow| around)?|good night|farewell|quit|exit
declined: (please |wait |no |and |but |oh )*(don't|do not|never) {deeds}\b.*
declined: (never ?mind|forget it|leave it|keep it|scratch that)( please| thanks)?
""")
"""Messages that ask for nothing."""
