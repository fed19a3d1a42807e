"""The words by which a clause about tasks on the list says what it asks for.

In a clause, ``§0`` stands for tasks, ``D`` for a date and ``P`` for a priority.
"""

from __future__ import annotations

import re

from maverick.chat.matching import BASE_FORMS
from maverick.chat.offline.wording import pattern

BREAK = re.compile(
    r"\s*[,;:!?()…]+\s+|\.\s+|\s+[-–—]+\s+|,?\s+(?:and(?: then| also)?|n|so|but|because|since|cause|cos|plus|while|though|although)\s+|,\s*as\s+|(?<=\bdone)\s+(?=(?:the |my )?§)",
    re.IGNORECASE,
)
PRONOUN = pattern(
    r"\b(?:(?:that|this|the) (?:one|task)|(?:both|all)(?: of)?(?: them| these| those)?|them|those|it|(?:the|its) (?:due date|date|deadline|priority)|(?<=make )that"
    r"|(?:that|this|these)(?! (?:morning|afternoon|evening|week|month|year|weekend|day|time|way|coming|\w+day)\b))(?:'s|'re)?\b|^\W*(?:all |already )*(?:done|finished|completed)(?: already| now)?\W*$"
)
ADDS = pattern(
    r"(?:(?:and|also|then|oh|ok|okay|now|so|can you|could you|would you|please|i want (?:you )?to|let's|plus)[, ]+)*"
    r"(?:add(?! (?:it|that|this|them|both)\b)|create|remind|remember|note|jot|write down|schedule|new (?:task|todo|reminder)|put\b(?!.*\bback\b).*\bon (?:my|the) list|don't (?:let me )?forget)\b"
)
ASKS = pattern(
    r"(?:and |so |but |ok |okay )*(?:did|does|do i|do we|has(?! to\b)|have i|is|are|was|were|am i|should|shall|what|what's|when|where|who|which|why|how)\b"
)
GUARD = pattern(
    r"\b(?:if|unless|maybe|perhaps|might|whether|almost|nearly|half|halfway|partly|partially|mostly|probably|think|guess|suppose|hopefully|hope|wish|or|"
    r"rather not|better not|except|started|start|began|imagine|not sure|forgot|only|wonder|believe|some of|part of|tried|trying|draft)\b|\d ?%"
)
RAISE = pattern(
    r"\b(?:(?P<up>(?:raise|increase|up) .*\bpriority|(?<!de)prioriti[sz]e)|(?:lower|reduce|decrease) .*\bpriority|deprioriti[sz]e)\b"
)
NOT = pattern(
    r"\b(?:forgot|not|never|no|nobody|nothing|none|cannot|\w+n't|didnt|havent|dont|cant|isnt|without|still|yet)\b"
)
TO_COME = pattern(
    r"\b(?:will|'ll|i'll|we'll|going to|gonna|want(?:ed)? to|would like|need(?:s|ed)?|must|should|have to|has to|had to|got to|gotta|to do|plan)\b"
)
UNDATE = pattern(
    r"\b(?:no|remove|take|clear|drop|delete|lose|unset|without|strip|scrap|get rid of|cancel)\b.*\b(?:due date|deadline|date)\b|\b(?:has no|(?:doesn't|don't) (?:need|have) an?) (?:due date|deadline|date)\b"
)
REOPEN = pattern(
    r"\b(?:re-?open|un-?complete|un-?mark|un-?check|un-?tick|undone|unfinished|incomplete)\b|\bnot (?:\w+ ){0,2}(?:done|finished|complete|completed)\b"
    r"|\b(?:isn't|wasn't|aren't|not) (?:bought|paid|sent|read|written|made|called|booked|watered|emailed)\b|\bback on (?:the|my) list\b|\b(?:marked|ticked|checked|closed)\b.*\btoo (?:early|soon)\b|\bopen (?:it|that|§\d+)(?: up)? again\b|\b(?:put|bring|move|get|set) .*\bback\b(?!.* [DP]\b)|\bby (?:mistake|accident)\b|\baccidentally\b|\b(?:isn't|wasn't|isnt|aren't) (?:\w+ ){0,2}(?:done|finished|complete|completed)\b"
)
UNDONE = pattern(r"\b(?:haven't|havent|have not|didn't|didnt|did not|never)\b(?! mean\b| want\b| need\b)")
REMOVE = pattern(
    r"\b(?:delete|del|rm|remove|erase|scrap|drop(?! left\b)|discard|ditch|bin|trash|cancel|get rid of|throw (?:out|away)|forget(?: about)?|dump|scratch|kill|nuke|lose|knock)\b"
    r"|\btake\b.*\b(?:off|away)\b|\bcan go\W*$|\b(?:don't|do not|no longer) (?:need|want|have to)\b(?!.* [DP]\b)"
)
SETS = pattern(
    r"\b(?:make|set|move|push|put|change|bump|bring|shift|postpone|reschedule|delay|defer|snooze|switch|prepone|moves?|mark|give|raise|lower|drop|upgrade|downgrade|prioriti[sz]e|"
    r"due|deadline|instead|wait|now|needs?|should|must|has to|have to|update|extend(?:ed)?|later|earlier|moved|pushed|postponed|rescheduled|delayed|"
    r"is|are|can be|'s|was|it's|that's|add|i'll|we'll|will|going to|flag|turn|want|treat|pull|slide)\b|§\d+ (?:down |up |back )?(?:to|until|till|at|as|for) [DP]\b|\b(?:until|till) D\b|§\d+\W* (?:->|→|=)|§\d+ P\b|\bP §"
)
COMMANDED = pattern(
    r"\b(?:tick|check|cross|strike|mark|knock|close|clear|come)\b.*\b(?:off|out|done|complete|completed|finished|sorted|paid|closed|finish|bought|sent|read|written|\w+ed)\b"
    r"|\btick the §|\b(?:tick|close|complete|check)\b(?: (?:out|off))? (?:§|it|that|them|both)|\bmark (?:it|that|them|both|§\d+)\W*$|\bcall (?:it|that|§\d+) done\b"
)
STATED = pattern(
    r"\b(?:done|finish|finished|complete|completed|sorted|handled|taken care of|dealt with|ticked off|out of the way|over with|settled|gone out|ready|✓|✔|✅)(?!\w)|[✓✔✅☑]"
)
NO_DEED = frozenset(
    re.findall(
        r"\S+",
        "needed wanted asked hoped liked loved tried wished added forgot forgotten started moved decided cancelled canceled missed changed delayed postponed "
        "reminded rescheduled pushed due need feed seed indeed shed bed red worried tired supposed stopped failed left "
        "afraid excited confused overdue opened reopened unmarked unchecked bumped marked dropped deleted removed closed found told said thought",
    )
)
PAST = pattern(rf"\b(?:\w\w+ed|{'|'.join(BASE_FORMS)}|called|phoned)\b")
BY_ME = pattern(r"\b(?:i|we|i've|we've|ive|just|already|finally)\b")
TAIL = pattern(
    r"\b(?:on|at|in|between|after|before|during|with|from|by|over|via|through|for|while|when) (?:(?!§)[\w']+ ?){1,5}\W*$"
)
OTHERS_SAY = pattern(
    r"^\W*(?!(?:i|we|never|nobody|no)\b)(?:[\w']+ ){1,2}?(?:says?|said|told me|thinks)(?: that)?\b"
)
KNOWN = frozenset(
    re.findall(
        r"\S+",
        "a an the my our your some add i i'm we we've we're i've ive i'd me us you u he it it's its that that's this these those them they they're both all one ones "
        "is are was were be been being am has have had do does did to of for on in at by as up out off from with w into about than then "
        "and or so but just already finally really actually now please pls plz ok okay oh ah hey hi well yes yeah yep no nope not can could would will may let let's "
        "task tasks thing things item todo list reminder deadline date due day days week weeks month priority prio status time due "
        "make set move push put change bump bring shift postpone reschedule delay defer snooze switch prepone moves del mark give raise lower drop upgrade downgrade prioritise prioritize "
        "until till instead wait needs need should must update extend extended soon moved pushed postponed rescheduled delayed flag turn want treat pull slide "
        "tick check cross strike knock close clear delete remove rm erase scrap discard ditch bin trash cancel get rid throw away forget dump scratch kill nuke lose take "
        "done finish finished complete completed sorted handled taken care dealt ticked way over settled ready gone went "
        "reopen unmark uncheck untick undone unfinished incomplete back again yesterday today morning afternoon evening night last earlier early lately "
        "too also thanks thank sorry wait mean meant better rather fine enough good works great going more no longer anymore any hurry rush "
        "another extra later sooner forward ahead got new still only here there go ahead thx cheers finally phew yay lol haha btw kindly time today "
        "would like able think i'll d p first thing quite so very super pretty high low medium normal urgent important top "
        "raise increase reduce decrease come deprioritise deprioritize forgot yet oops whoops uh um er latest doing down after all regarding booking paying part nicely easily i'd "
        "mail email message open her his their ago hour hours minute minutes bloody damned stupid fucking freaking whole entire boring silly "
        "wrong mistake accident accidentally marked set n ch list's asap omg damn "
        "can't cant couldn't don't dont isn't isnt haven't havent didn't didnt won't hasn't aren't wasn't doesn't never",
    )
)


OBLIGED = pattern(
    r"(?:now |then )?(?:i |we )?(?:still |also |now |really )*(?:need to|have to|must|got to|gotta|should) "
)
DID_ON = pattern(
    rf"\b(?:i|we)(?:'ve| have| already| just| finally)* (?P<verb>\w\w+ed|{'|'.join(BASE_FORMS)})\b.*\b(?:on|last|back on) (?:mon|tues|wednes|thurs|fri|satur|sun)day"
)
"""What was done on a day that is over."""
WHOLE = pattern(r"(?:everything|all|every|whatever)\b")
SAME = pattern(
    r"\W*(?:so (?:is|are|was) )?(?:the |my )?§\d+(?:'s)?(?: (?:is|are))?(?: (?:too|also|as well))?\W*"
)
THEN = pattern(r"\b(?:to|for|on|until)? ?(?:then|that day|the same day)\b")
KEPT = pattern(r"\b(?:don't|do not|dont|never|not)\b\W+(?:\w+ )?$")
WILL = pattern(r"\b(?:want(?:ed)? to|would like|plan(?:ning)? to|let's|might|hope)\b")
NOT_YET = pattern(r"\bnot (?:due )?(?:before|until|till)\b")
FACT = pattern(r"\W*(?:the|my|our) §\d+(?:'s| is| are| was)\b(?!.*\b(?:due|now|not|moved|until|till|by)\b).*")
PLAN = pattern(r"(?!.*\binstead\b).*\b(?:i'll|we'll|will|(?:am|i'm|we're) going to|gonna)\b")
IS_DONE = pattern(rf"(?<=\d)\s*[:=]\s*(?=(?:\w\w+ed|done|{'|'.join(BASE_FORMS)})\b)")
ARE_DONE = pattern(
    r"^\W*(?:(?:mark|tick|check)(?: off)? (?:as )?)?(?:done|finished|completed)\s*[:-]\s*(?P<tasks>(?:the |my )?§\d+)\W*$"
)
HAVE = pattern(r"\b(?:i|we)(?:'ve| have| just| already| finally)+ §\d+\W*$")
FOR_NOW = pattern(r"\bfor (?:now|today|tonight|the day|this week)\b")
ENDS = pattern(r"(?:finish|complete|close|end)\b")
NOTED = pattern(r"\W*§\d+(?:\W+[DP])+\W*")
NOT_SET = pattern(
    r"\b(?:not|never|cannot|\w+n't|dont|cant|isnt)\b(?! (?:due )?(?:before|until|till))(?=.*(?:\bD\b|\b(?:make|set|move|push|put|change|be|have|need)\b))"
)
BY_PEOPLE = pattern(
    r"\b(?:called|phoned|rang|texted|emailed|wrote|replied|answered|asked|told|left|came|went|arrived)\b"
)
FROM_LEVEL = pattern(r"\bfrom (?:high|medium|normal|low)(?: priority)? (?=to\b)")
LEVEL = pattern(
    r"(?<!priority )(?<!prio )(?<!priority: )\b(high|medium|normal|low)\b(?![ -](?:prio|importance))"
)
CALM = pattern(
    r"\b(?:isn't|is not|aren't|no longer|isnt|not)\b.* (?:urgent|important|P)\b.*\b(?:any ?more|any longer|now|after all)\b|\bno longer\b.*(?:urgent|important|P\b)"
)
