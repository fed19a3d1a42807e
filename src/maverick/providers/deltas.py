"""An answer that is already whole, cut into the pieces a stream would have brought."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maverick.model import Response, Text, TextDelta, Thinking, ThinkingDelta

_WORD = re.compile(r"\s*\S+\s*|\s+")  # a word and the space around it, so that the pieces add up to the text


def deltas_of(response: Response) -> Iterator[TextDelta | ThinkingDelta]:
    """The thoughts and words of an answer in order, one word at a time."""
    for part in response.parts:
        if isinstance(part, Text):
            yield from map(TextDelta, _WORD.findall(part.text))
        elif isinstance(part, Thinking):
            yield from map(ThinkingDelta, _WORD.findall(part.text))
