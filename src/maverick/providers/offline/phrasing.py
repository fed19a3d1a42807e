"""How the offline model puts things: tool results, questions and what it has to offer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from maverick.model import Tool
from maverick.model.untrusted import unmarked
from maverick.providers.offline.choosing import Plan
from maverick.providers.offline.scene import Outcome
from maverick.providers.offline.schema import Json

WITH_A_REAL_MODEL = "For a real model, set ANTHROPIC_API_KEY and start again."


def report(outcomes: Sequence[Outcome]) -> str:
    """What the tools said, in sentences."""
    return "\n".join(_sentence(outcome) for outcome in outcomes)


def question(plan: Plan) -> str:
    """Ask for what a tool still needs."""
    names = [name.replace("_", " ") for name in plan.filled.missing]
    wanted = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    verb = "What is it?" if len(names) == 1 else "What are they?"
    return f"To use {plan.tool.name} I need the {wanted}. {verb}"


def offer(tools: Sequence[Tool]) -> str:
    """What can be done here."""
    if not tools:
        return "I have no tools here, so small talk is all I can do."
    lines = (f"- {tool.name}: {_first_sentence(tool.description)}" for tool in tools)
    return "Here I can use these tools:\n" + "\n".join(lines)


def _sentence(outcome: Outcome) -> str:
    name = outcome.call.tool_name
    text = _readable(unmarked(outcome.text)).strip()
    if outcome.is_error:
        return f"I tried {name}, but it did not work: {_ended(text or 'it gave no reason')}"
    if not text:
        return f"{name} is done; it had nothing to say."
    if _is_sentence(text) or "\n" in text:
        return text
    return f"According to {name}: {_ended(text)}"


def _readable(text: str) -> str:
    """A JSON result in words; any other as it is."""
    try:
        value = json.loads(text)
    except ValueError:  # plain text, as most results are
        return text
    return _in_words(value)


def _in_words(value: Json) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{str(key).replace('_', ' ')} {_in_words(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(_in_words(each) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else str(value)


def _is_sentence(text: str) -> bool:
    return " " in text and text.endswith((".", "!", "?"))


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _first_sentence(text: str) -> str:
    return text.strip().split("\n", 1)[0].split(". ", 1)[0].rstrip(".")
