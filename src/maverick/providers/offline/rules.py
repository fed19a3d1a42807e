"""The rules the offline model follows, each one thing it knows how to do.

A rule looks at the scene and answers, or leaves it to the next one. To teach the model another skill, give
:class:`~maverick.providers.offline.OfflineClient` a list of rules with one more in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, Protocol, TypeAlias

from maverick.providers.offline.choosing import Plan, choose, refill
from maverick.providers.offline.phrasing import WITH_A_REAL_MODEL, offer, question, report
from maverick.providers.offline.scene import Scene
from maverick.providers.offline.sentence import LONGEST
from maverick.providers.offline.small_talk import SmallTalk
from maverick.providers.offline.structured import answer_as_json


@dataclass(frozen=True, slots=True)
class Wish:
    """A tool the model wants to run."""

    tool_name: str
    arguments: dict[str, Any]


Answer: TypeAlias = str | Sequence[Wish]
"""Words, or tools to run."""


class Rule(Protocol):
    """One thing the model knows how to do."""

    def answer(self, scene: Scene) -> Answer | None:
        """The answer, or ``None`` when the rule does not apply."""
        ...


class UseTools:
    """Calls the tools a request asks for, when everything they need was said."""

    def answer(self, scene: Scene) -> Answer | None:
        """One call for each part of the request."""
        if not _may_act(scene):
            return None
        plans = choose(scene.said, scene.tools)
        return _wishes(plans) if plans and all(plan.complete for plan in plans) else None


class TakeMissingValue:
    """Reads a remark as the value the model asked for just before."""

    def answer(self, scene: Scene) -> Answer | None:
        """The call that had to wait."""
        if not _may_act(scene) or not scene.said_before:
            return None
        waiting = [plan for plan in choose(scene.said_before[-1], scene.tools) if not plan.complete]
        if not waiting or scene.answered != question(waiting[0]):
            return None
        plan = refill(waiting[0].tool, scene.said, waiting[0].filled.values)
        return _wishes([plan]) if plan.complete else question(plan)


class FollowUp:
    """Understands "and in Paris?" as the last call once more, with another value."""

    _OPENING = re.compile(
        r"(?:and|what about|how about|now|same for|also)\b[\s,:]*(.+)", re.IGNORECASE | re.DOTALL
    )

    def answer(self, scene: Scene) -> Answer | None:
        """The last call, changed."""
        opening = self._OPENING.fullmatch(scene.said)
        if opening is None or not scene.earlier or not _may_act(scene):
            return None
        last = scene.earlier[-1].call
        tool = scene.tool(last.tool_name)
        if tool is None:
            return None
        plan = refill(tool, opening[1], last.arguments)
        return _wishes([plan]) if plan.complete and plan.filled.values != last.arguments else None


class AskForMissingValue:
    """Asks for what a tool needs and nobody said."""

    def answer(self, scene: Scene) -> Answer | None:
        """A question."""
        if not _may_act(scene):
            return None
        return next((question(plan) for plan in choose(scene.said, scene.tools) if not plan.complete), None)


class AnswerInShape:
    """Gives the JSON that was asked for."""

    def answer(self, scene: Scene) -> Answer | None:
        """An answer of the wanted shape."""
        return None if scene.output is None else answer_as_json(scene.output.schema, scene)


class ReportOutcomes:
    """Says what the tools returned."""

    def answer(self, scene: Scene) -> Answer | None:
        """A sentence for each result."""
        return report(scene.outcomes) if scene.outcomes else None


class Condense:
    """Shortens a text it is given, as an agent whose conversation grows too long asks for."""

    _REQUEST = re.compile(
        r"(?:please )?(?:condense|summari[sz]e|shorten)\b[^:\n]*:(.+)", re.IGNORECASE | re.DOTALL
    )
    _LINES, _WIDTH = 20, 120

    def answer(self, scene: Scene) -> Answer | None:
        """The beginning of each of the last lines: nothing is added, and something is lost."""
        asked = self._REQUEST.fullmatch(scene.said)
        if asked is None:
            return None
        lines = [line.strip() for line in asked[1].splitlines() if line.strip()]
        return (
            "\n".join(
                shorten(line[:LONGEST], self._WIDTH, placeholder=" …") for line in lines[-self._LINES :]
            )
            or None
        )


class AdmitLimits:
    """Says plainly what this model is, what it can do here, and how to get a real one."""

    def answer(self, scene: Scene) -> Answer | None:
        """Always an answer, and never a made-up one."""
        too_long = f"It is longer than the {LONGEST} characters I read. " if len(scene.said) > LONGEST else ""
        return (
            "I cannot answer that: this is the offline model, a small set of rules without a language model "
            f"behind it. {too_long}{offer(scene.tools)}\n{WITH_A_REAL_MODEL}"
        )


DEFAULT_RULES: tuple[Rule, ...] = (
    SmallTalk(),
    UseTools(),
    TakeMissingValue(),
    FollowUp(),
    AnswerInShape(),
    AskForMissingValue(),
    ReportOutcomes(),
    Condense(),
    AdmitLimits(),
)
"""What the model can do, in the order in which it tries."""


def _may_act(scene: Scene) -> bool:
    """Whether tools may be called: for no text that is not read, not twice for one request, not after a fixed shape."""
    is_read = len(scene.said) <= LONGEST
    return is_read and not scene.outcomes and not (scene.output is not None and scene.answered)


def _wishes(plans: Sequence[Plan]) -> list[Wish]:
    return [Wish(plan.tool.name, plan.filled.values) for plan in plans]
