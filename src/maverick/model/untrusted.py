"""Marks untrusted content: data that a tool found elsewhere, not instructions of the user.

Marking helps a model to keep the two apart. It is no defence by itself: what a model may do is decided by the
permissions, whatever it was talked into.
"""

from __future__ import annotations

import hashlib
import re

_BEGINNING = '<untrusted from="'
_OPENING = re.compile(rf'{_BEGINNING}[^"\n]*" id="([0-9a-f]{{16}})">\n')
_MARKED = rf'{_BEGINNING}[^"\n]*" id="([0-9a-f]{{16}})">\n((?s:.*?))\n</untrusted \1>'


def mark_untrusted(source: str, text: str) -> str:
    """The text between two lines that say where it came from.

    The lines carry a digest of the text, so that nothing in the text can pass for its end: a text that holds its own
    digest cannot be found.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    name = " ".join(source.split())[:200].replace('"', "'")
    return f'{_BEGINNING}{name}" id="{digest}">\n{text}\n</untrusted {digest}>'


def is_marked(text: str) -> bool:
    """Whether there is something in a text that :func:`mark_untrusted` has marked."""
    return _BEGINNING in text


def cut_out(text: str, start: int, stop: int, note: str) -> str:
    """The text with a note in place of what lies between two places.

    A mark that the cut goes through stays whole: what is left of the marked text before and after the cut lies between
    its two lines, as before.
    """
    start, stop = _before_opening(text, start), _before_opening(text, stop)
    before, after = _open_mark(text, start), _open_mark(text, stop)
    head, tail = text[:start], text[stop:]
    if before is not None and after is not None and before.start() == after.start():
        cut = f"{head}{note}{tail}"
    else:
        closing = "" if before is None else _closing(before)
        opening = "" if after is None else after.group()
        cut = f"{head}{closing}{note}{opening}{tail}"
    still_open = _open_mark(cut, len(cut))
    return cut if still_open is None else cut + _closing(still_open)


def _before_opening(text: str, place: int) -> int:
    """The place, or the beginning of the mark's first line that it lies in."""
    begin = text.rfind(_BEGINNING, 0, place + len(_BEGINNING))
    opening = None if begin < 0 else _OPENING.match(text, begin)
    return begin if opening is not None and begin < place < opening.end() else place


def _open_mark(text: str, place: int) -> re.Match[str] | None:
    """The mark that begins before a place in a text and does not end there, if there is one."""
    end = 0
    while (opening := _OPENING.search(text, end, place)) is not None:
        closing = _closing(opening)
        found = text.find(closing, opening.end() - 1, place)
        if found < 0:
            return opening
        end = found + len(closing)
    return None


def _closing(opening: re.Match[str]) -> str:
    return f"\n</untrusted {opening[1]}>"


def unmarked(text: str) -> str:
    """A tool's result as people read it: without the two lines, if it has them."""
    return re.sub(rf"\A{_MARKED}", lambda marked: marked[2], text)


def unmarked_message(text: str) -> str:
    """A user's message as people read it: without the two lines around whatever in it is from elsewhere."""
    return re.sub(_MARKED, lambda marked: marked[2], text)
