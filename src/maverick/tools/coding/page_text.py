"""The text of a web page.

A page may be hostile, so it is read from its beginning to its end and no piece of it twice: what is begun and never
ended, such as a tag or a comment, takes the rest of the page with it, as it does in a browser. The parser of the
standard library looks for the end again and again, which takes minutes for a page that is made for that.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from html import unescape

_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])")
_TAG = re.compile(
    r"<(?P<end>/?)(?P<name>[a-zA-Z][^\s/>]*+)"
    r"(?P<rest>(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)>"  # in quotes, a > ends nothing
)
_COMMENT = re.compile(r"<!--(?:-?>|.*?--!?>)|<(?!!--)(?:[!?]|/(?![a-zA-Z]))[^>]*+>", re.DOTALL)
"""A comment, or what a browser takes for one."""
_REFERENCE = re.compile(
    r"&(?:#[0-9]{1,7}(?![0-9])|#[xX][0-9a-fA-F]{1,6}(?![0-9a-fA-F])|[^\t\n\f <&#;]{1,32});?"
)
_ENDS = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "noscript", "iframe")
}
"""The ends of elements whose content is neither markup nor visible."""
_UNSEEN = frozenset({"template", "svg", "object"})
_INLINE = frozenset({
    "a", "abbr", "b", "cite", "code", "em", "i", "kbd", "q", "s", "small", "span", "strong", "sub", "sup", "td", "th", "u",
    "wbr",
})  # fmt: skip
"""Tags in the middle of a line; every other one begins a new line."""


def text_of_page(page: str, unwanted: threading.Event | None = None) -> str:
    """What a person would read of a page, without its scripts and styles."""
    pieces = []
    for piece in _pieces(page):
        if unwanted is not None and unwanted.is_set():
            return ""
        pieces.append(piece)
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _pieces(page: str) -> Iterator[str]:
    """The text of a page bit by bit, with a line break for each tag that makes one; nothing for what is not seen."""
    place = unseen = 0
    while (sign := _MARKUP.search(page, place)) is not None:
        yield "" if unseen else _said(page[place : sign.start()])
        tag = _TAG.match(page, sign.start())
        if (markup := tag or _COMMENT.match(page, sign.start())) is None:
            return
        place = markup.end()
        if tag is None:
            continue
        name = tag["name"].lower()
        if name not in _INLINE:
            yield "\n"
        if name in _UNSEEN:
            begins, ends = not tag["end"], bool(tag["end"]) or tag["rest"].endswith("/")
            unseen = max(0, unseen + begins - ends)
        elif name in _ENDS and not tag["end"]:
            if (end := _ENDS[name].search(page, place)) is None:
                return
            place = end.start()
    yield "" if unseen else _said(page[place:])


def _said(text: str) -> str:
    return _REFERENCE.sub(lambda reference: unescape(reference[0]), text) if "&" in text else text
