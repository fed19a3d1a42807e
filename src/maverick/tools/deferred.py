"""Tools that are not offered but found: one tool searches them, and one calls what was found.

The tools of a request are part of the prefix that providers cache, and cost tokens in every turn. A model that is offered
hundreds also chooses worse. So large toolsets are deferred: the model is offered :data:`SEARCH_TOOLS` and
:data:`~maverick.loop.tool_round.CALL_TOOL` in their place, and neither changes during a run. A call through the second is
a call of the tool itself for everything but the conversation; the loop sees to that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import log
from typing import Any

import msgspec

from maverick.exceptions import InvalidToolError, ToolError, describe_unknown
from maverick.loop.tool_round import CALL_TOOL
from maverick.model import Tool
from maverick.tools.function import FunctionTool

SEARCH_TOOLS = "search_tools"

MOST_OFFERED = 30
"""The tools of an MCP server that has more are deferred, unless the definition says otherwise."""

_LONGEST_QUERY, _MOST_FOUND, _MOST_GROUPS = 1000, 20, 20
_NAME_WEIGHT = 3
"""How much more a word in a tool's name says than one in its description."""
_SATURATION, _LENGTH_SHARE = 1.2, 0.5
"""The usual constants of BM25: how soon a repeated word says no more, and how much long descriptions are held back."""

_WORDS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+"


def deferred_names(defer: bool | Sequence[str] | None, tools: Mapping[str, Tool]) -> frozenset[str]:
    """The tools among these that are deferred, as a definition says; it may only name what it has."""
    if defer is None:
        sizes = Counter(map(_group, tools.values()))
        return frozenset(
            name for name, tool in tools.items() if _group(tool) and sizes[_group(tool)] > MOST_OFFERED
        )
    if isinstance(defer, bool):
        return frozenset(tools) if defer else frozenset()
    found: set[str] = set()
    for said in defer:
        named = {name for name in tools if name == said or name.startswith(f"{said}__")}
        if not named:
            raise InvalidToolError(
                f"tool_config.defer: {describe_unknown('tool', said, list(tools))}", tool_name=said
            )
        found |= named
    return frozenset(found)


def deferral_tools(deferred: Iterable[Tool]) -> tuple[Tool, Tool]:
    """The two tools that stand for deferred ones."""
    index = _Index(list(deferred))

    async def search_tools(query: str, limit: int = 5) -> str:
        """Find tools.

        Args:
            query: What the tool should do, or its name.
            limit: How many to return, at most 20.
        """
        return index.describe(query[:_LONGEST_QUERY], max(1, min(limit, _MOST_FOUND)))

    async def call_tool(name: str, arguments: dict[str, Any]) -> str:  # noqa: ARG001 - the schema is what it is for
        """Call a tool that search_tools found.

        Args:
            name: The tool's name, as search_tools gave it.
            arguments: Its arguments, as its schema says.
        """
        # The loop has put the tool in this one's place, unless it cannot: the name is missing, or this one's own.
        raise ToolError(
            f"{CALL_TOOL} needs the name of another tool, as {SEARCH_TOOLS} gave it.", tool_name=name
        )

    return (
        FunctionTool(search_tools, description=index.summary, effect="pure"),
        FunctionTool(call_tool, effect="pure"),
    )


def _group(tool: Tool) -> str:
    """The MCP server that a tool is of; empty for others."""
    return str(getattr(tool, "server", ""))


class _Index:
    """The words of tools, ranked by BM25."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools

    @property
    def summary(self) -> str:
        """What the model is told of the tools it is not shown."""
        groups = Counter(filter(None, map(_group, self._tools))).most_common(_MOST_GROUPS)
        named = f", among them those of {', '.join(name for name, _ in groups)}" if groups else ""
        return (
            f"Find tools by what they do: {len(self._tools)} are available beside those you see{named}. Returns the names, "
            f"descriptions and JSON Schemas of the best matches; call them with {CALL_TOOL}."
        )

    def describe(self, query: str, limit: int) -> str:
        """The best matches, as text."""
        found = self._search(query)[:limit]
        if not found:
            return f"No tool matches {query!r}. Try other words for what it should do."
        return "\n\n".join(
            f"{tool.name}: {tool.description}\n{msgspec.json.encode(dict(tool.parameters)).decode()}"
            for tool in found
        )

    def _search(self, query: str) -> list[Tool]:
        scores: dict[int, float] = {}
        average = sum(sum(words.values()) for words in self._words) / len(self._words)
        for word in sorted(set(_words(query))):
            having = [index for index, words in enumerate(self._words) if word in words]
            rarity = log(1 + len(self._words) / (len(having) + 0.5))
            for index in having:
                words = self._words[index]
                length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * sum(words.values()) / average
                said = words[word] / (words[word] + _SATURATION * length)
                scores[index] = scores.get(index, 0.0) + rarity * said
        ranked = sorted(scores, key=lambda index: (self._tools[index].name != query.strip(), -scores[index]))
        return [self._tools[index] for index in ranked]

    @cached_property
    def _words(self) -> list[Counter[str]]:
        """By tool, how often it has which word; made when it is first searched."""
        return [
            Counter(
                [
                    *(word for word in _words(tool.name) for _ in range(_NAME_WEIGHT)),
                    *_words(tool.description),
                    *_words(" ".join(map(str, tool.parameters.get("properties", {})))),
                ]
            )
            for tool in self._tools
        ]


def _words(text: str) -> Iterator[str]:
    """The words of a text in lower case, without the ``s`` of a plural; ``createIssue`` and ``create_issue`` are two."""
    for word in map(str.lower, re.findall(_WORDS, text)):
        yield word[:-1] if len(word) > 3 and word.endswith("s") else word
