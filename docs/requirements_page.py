"""Writes a page that maps each requirement to the tests that prove it and to the modules those tests use.

Run ``make docs``, or ``python docs/requirements_page.py [FOLDER]``; the page goes to ``build/docs/requirements.md``
unless a folder is named. The tests are read, not run.
"""
# ruff: noqa: INP001 - a script beside the documents, not part of a package

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"

_HEAD = """\
# Requirements, the code that meets them, and the tests that prove it

Made by `make docs` from the manifest in `tests/requirements.py` and the marks of the tests. `000` to `004` are the seed
documents, `P` the promises of the design; the others are what was added to them. The code is what the proving tests
import, `maverick.` left out.
"""


def page(requirements: Mapping[str, str]) -> str:
    """The page as Markdown."""
    proofs, code = _evidence()
    lines = [_HEAD]
    family = ""
    for name in sorted(requirements):
        if (begins := name.partition("-")[0]) != family:
            family = begins
            lines += ["", f"## {family}", "", "| id | requirement | tests | code |", "|---|---|---|---|"]
        tests = "<br>".join(f"`{path}` ×{count}" for path, count in proofs[name].items())
        modules = ", ".join(f"`{module}`" for module in sorted(code[name]))
        lines.append(f"| {name} | {requirements[name]} | {tests} | {modules} |")
    return "\n".join(lines) + "\n"


def _evidence() -> tuple[dict[str, dict[str, int]], dict[str, set[str]]]:
    """For each id, the test files that name it and how often, and the modules they import."""
    proofs: dict[str, dict[str, int]] = defaultdict(dict)
    code: dict[str, set[str]] = defaultdict(set)
    for path in sorted(TESTS.rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        modules = set(_modules(tree))
        for name in _marks(tree):
            proven = proofs[name]
            where = path.relative_to(TESTS).as_posix()
            proven[where] = proven.get(where, 0) + 1
            code[name] |= modules
    return proofs, code


def _marks(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="requirement")):
                yield from map(ast.literal_eval, node.args)


def _modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("maverick."):
            yield (node.module or "").removeprefix("maverick.")


if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))
    from requirements import REQUIREMENTS

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "requirements.md").write_text(page(REQUIREMENTS), encoding="utf-8")
