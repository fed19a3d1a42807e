"""The tools ``maverick chat`` has: small, harmless, and real."""

from __future__ import annotations

from datetime import datetime

from maverick.cli.calculator import evaluate
from maverick.cli.figures import counted
from maverick.tools import tool


@tool(effect="pure")
async def calculate(expression: str) -> str:
    """Work out an arithmetic expression.

    Args:
        expression: Numbers, + - * / // % ** and brackets, such as "(3 + 4) * 2".
    """
    value = evaluate(expression)
    return f"{expression} = {value if isinstance(value, int) else format(value, '.12g')}."


@tool(effect="pure")
async def date_and_time() -> str:
    """Today's date and the time of day."""
    now = datetime.now().astimezone()
    return f"It is {now:%A}, {now.day} {now:%B %Y}, {now:%H:%M} (UTC{now:%z})."


@tool(effect="pure")
async def count_words(text: str) -> str:
    """Count the words and letters of a text.

    Args:
        text: The text to count in.
    """
    words = len(text.split())
    letters = sum(character.isalpha() for character in text)
    return f"“{text}” has {counted(words, 'word')} and {counted(letters, 'letter')}."


EVERYDAY_TOOLS = (calculate, date_and_time, count_words)
