"""Arithmetic in a sentence: found, and written the way a calculator reads it."""

from __future__ import annotations

import re

# Numbers and gaps are matched from their beginning only, and give nothing back: a search through a text that is nothing
# else then takes as many steps as the text has characters, and not their square.
_NUMBER = r"\d++(?:\.\d++)?+"
_GAP = r"(?<!\s)\s++"
_SPOKEN = (
    (re.compile(rf"(?<!\d)({_NUMBER})\s*+(?:%|percent)\s+of\b"), r"\1 / 100 *"),
    (re.compile(rf"\bsquare root of\s+({_NUMBER})"), r"\1 ** 0.5"),
    (re.compile(r"(?<=\d)\s+squared\b"), " ** 2"),
    (re.compile(r"(?<=\d)\s+cubed\b"), " ** 3"),
    (re.compile(rf"{_GAP}(?:to the power of|raised to)\s+(?=[\d(])"), " ** "),
    (re.compile(rf"{_GAP}(?:divided by|over)\s+(?=[\d(-])"), " / "),
    (re.compile(rf"{_GAP}(?:multiplied by|times|x)\s+(?=[\d(-])"), " * "),
    (re.compile(rf"{_GAP}plus\s+(?=[\d(-])"), " + "),
    (re.compile(rf"{_GAP}minus\s+(?=[\d(-])"), " - "),
    (re.compile(r"[×·]"), "*"),
    (re.compile(r"[÷:](?=\s*\d)"), "/"),
    (re.compile(r"\^"), "**"),
    (re.compile(r"(?<=\d),(?=\d{3}\b)"), ""),
)
_TERM = rf"(?:\(\s*)*+-?{_NUMBER}(?:\s*\))*+"
_EXPRESSION = re.compile(rf"(?<![\d(]){_TERM}(?:\s*(?:\*\*|//|[-+*/%])\s*{_TERM})+")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b|\b\d{1,2}:\d{2}\b")
_LONGEST = 1000
"""How much of a text is looked at: nobody dictates longer sums, and a search for brackets is not linear."""
_OPERATIONS = {
    "+": "add addition plus sum",
    "-": "subtract subtraction minus difference",
    "*": "multiply multiplication times product",
    "/": "divide division quotient",
}


def find_expression(text: str) -> str | None:
    """The arithmetic in a sentence, such as ``12 * 7`` in "what is 12 times 7?"."""
    written = _DATE.sub(" ", text[:_LONGEST].lower())
    for spoken, sign in _SPOKEN:
        written = spoken.sub(sign, written)
    found = _EXPRESSION.search(written)
    if found is None or found.group().count("(") != found.group().count(")"):
        return None
    return found.group().strip()


def operation_words(expression: str) -> str:
    """What the arithmetic is called, for comparison with what a tool says it does."""
    names = [name for sign, name in _OPERATIONS.items() if sign in expression]
    return " ".join([*names, "calculate arithmetic math expression"])
