"""How long each example is, beside the same program on pydantic-ai: ``python -m benchmarks.twins.count``.

A line counts if it has code on it: not a blank line, not a comment, not a docstring. Both sides are formatted by the
same formatter at the same width, so a line is the same thing on both.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

TWINS = Path(__file__).parent
EXAMPLES = TWINS.parents[1] / "examples"
PROGRAMS = {
    "extraction": "typed extraction",
    "rag": "retrieval with a database handle",
    "fastapi_streaming": "a streaming FastAPI endpoint",
    "approval": "approval by another person, the next day",
    "subagents": "subagents with one budget",
    "jobs": "50 jobs through four kills",
    "chat_database": "a chat in your own database",
    "test_weather_agent": "tests and a cassette",
    "fallback": "fallback, rate limit and cost cap",
    "mcp_permissions": "MCP with permissions",
    "vision": "image, thinking and cache settings",
    "migrated_loop": "migration of a hand-written loop",
}
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def count_lines(path: Path) -> int:
    """The lines of a program that have code on them."""
    text = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - _docstring_lines(ast.parse(text)))


def _docstring_lines(tree: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ) and ast.get_docstring(node):
            lines.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return lines


def table() -> list[tuple[str, int, int]]:
    """Each program with its own lines and its twin's."""
    return [
        (title, count_lines(EXAMPLES / f"{name}.py"), count_lines(TWINS / f"{name}.py"))
        for name, title in PROGRAMS.items()
    ]


if __name__ == "__main__":
    print("| program | Maverick | pydantic-ai |\n|---|---|---|")
    for title, ours, twins in table():
        print(f"| {title} | {ours} | {twins} |")
    print(f"| all twelve | {sum(row[1] for row in table())} | {sum(row[2] for row in table())} |")
