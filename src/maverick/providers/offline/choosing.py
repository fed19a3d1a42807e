"""Choosing the tools a request needs, by comparing its words with what each tool says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from maverick.model import Tool
from maverick.providers.offline.arguments import Filled, fill
from maverick.providers.offline.arithmetic import find_expression, operation_words
from maverick.providers.offline.schema import Json, Property, properties_of
from maverick.providers.offline.sentence import LONGEST, QUOTED
from maverick.providers.offline.words import split_words, topics

_CERTAIN = 3
"""The score of one word in common with a tool's name: enough to choose it."""

_ASKING = re.compile(
    r"(?:what|which|who|how|when|where|is|are|do|does|can|could|would|tell|give|show|now\b).*|.*\?\s*",
    re.IGNORECASE | re.DOTALL,
)
_QUOTE_OR_JOINT = re.compile(
    rf"{QUOTED}|(?P<joint>(?<=[.!?;])\s|,?\s(?:and then|and also|and|then)\s)", re.IGNORECASE
)
_PLEASE = re.compile(r"^please,?\s|,?\splease(?=[.!?]*$)", re.IGNORECASE)
_ANOTHER = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*[.?!]?")
_CONVERSION = re.compile(
    r"(?:what(?: is|'s) )?[\d.,]+ ?[a-z°]+ (?:in|to|into|as) [a-z°]+\??|how many [a-z°]+ (?:is|are|in) [\d.,]+ ?[a-z°]+\??",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A tool to call, with the arguments found for it."""

    tool: Tool
    filled: Filled

    @property
    def complete(self) -> bool:
        """Whether nothing required is missing."""
        return not self.filled.missing


class ToolProfile:
    """The words a tool is known by."""

    def __init__(self, tool: Tool) -> None:
        properties = list(properties_of(tool.parameters))
        self.tool = tool
        self.name = topics(tool.name)
        self.choices = topics(" ".join(_choices(properties)))
        self.described = topics(tool.description) | topics(" ".join(each.name for each in properties))

    @property
    def vocabulary(self) -> frozenset[str]:
        """The words that name the tool rather than say what to do with it."""
        return self.name | self.choices | self.described

    def score(self, asked: frozenset[str]) -> int:
        """How much a request has in common with the tool; words of its name weigh most."""
        rest = asked - self.name
        return _CERTAIN * len(asked & self.name) + 2 * len(rest & self.choices) + len(rest & self.described)


def choose(text: str, tools: Sequence[Tool]) -> list[Plan]:
    """The calls that answer a request: one for each of its parts that asks for something, or none at all."""
    if len(text) > LONGEST:
        return []
    text = _PLEASE.sub("", text).strip()
    profiles = [ToolProfile(tool) for tool in tools]
    plans: list[Plan] = []
    for part in _parts(text):
        plan = _best(part, profiles) or (_continued(plans[-1], part) if plans else None)
        if plan is None or not plan.complete:
            whole = _best(text, profiles)
            return [] if whole is None else [whole]
        plans.append(plan)
    return plans


def refill(tool: Tool, text: str, known: Mapping[str, Json]) -> Plan:
    """The same tool once more, with what the text says in place of what was known."""
    return Plan(tool, fill(tool.parameters, text, ToolProfile(tool).vocabulary, known))


def _best(text: str, profiles: Sequence[ToolProfile]) -> Plan | None:
    asked = topics(text) | topics(_implied(text))
    plans: list[tuple[int, bool, Plan]] = []
    for profile in profiles:
        score = profile.score(asked)
        if score or len(profiles) == 1:
            filled = fill(profile.tool.parameters, text, profile.vocabulary)
            if _is_meant(score, text, filled):
                plans.append((score, not filled.guessed, Plan(profile.tool, filled)))
    return max(plans, key=itemgetter(0, 1))[2] if plans else None


def _continued(plan: Plan, text: str) -> Plan | None:
    """The plan for another name: "and Paris" after "the weather in Brest"."""
    if plan.filled.guessed or not _ANOTHER.fullmatch(text):
        return None
    return refill(plan.tool, text, plan.filled.values)


def _implied(text: str) -> str:
    """What a request is about without saying so."""
    expression = find_expression(text)
    if expression is not None:
        return operation_words(expression)
    return "convert unit measure" if _CONVERSION.fullmatch(text) else ""


def _is_meant(score: int, text: str, filled: Filled) -> bool:
    """Whether the likeness is no accident: a weak one needs arguments of its own to support it."""
    if filled.values or filled.missing:
        return score >= _CERTAIN or not (filled.missing or filled.guessed)
    return score > 0 and (_ASKING.fullmatch(text) is not None or len(split_words(text)) <= 3)


def _parts(text: str) -> Iterator[str]:
    """The parts of a compound request; words in quotation marks stay together."""
    start = 0
    for found in _QUOTE_OR_JOINT.finditer(text):
        if found["joint"]:
            yield text[start : found.start()].strip()
            start = found.end()
    yield text[start:].strip()


def _choices(properties: Sequence[Property]) -> Iterator[str]:
    for each in properties:
        yield from (str(choice) for choice in each.schema.get("enum", ()))
