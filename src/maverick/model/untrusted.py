"""Marks what a tool found as what it is: data from elsewhere, not words of the user.

Marking helps a model to keep the two apart. It is no defence by itself: what a model may do is decided by the
permissions, whoever talked it into it.
"""

from __future__ import annotations

import hashlib
import re

_BEGINNING = '<untrusted from="'
_MARKED = re.compile(rf'\A{_BEGINNING}[^"\n]*" id="([0-9a-f]{{16}})">\n(.*?)\n</untrusted \1>', re.DOTALL)


def mark_untrusted(source: str, text: str) -> str:
    """The text between two lines that say where it came from.

    The lines carry a digest of the text, so that nothing in the text can pass for its end: a text that holds its own
    digest can not be found.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    name = " ".join(source.split())[:200].replace('"', "'")
    return f'{_BEGINNING}{name}" id="{digest}">\n{text}\n</untrusted {digest}>'


def is_marked(text: str) -> bool:
    """Whether a tool's result begins as :func:`mark_untrusted` has it."""
    return text.startswith(_BEGINNING)


def unmarked(text: str) -> str:
    """A tool's result as people read it: without the two lines, if it has them."""
    return _MARKED.sub(lambda marked: marked[2], text)
