"""The manifest and the tests are held to each other, by reading the tests' source.

Reading instead of collecting makes it hold under any selection of tests and on any number of workers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from requirements import REQUIREMENTS

TESTS = Path(__file__).parent


def marks_in(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls of ``pytest.mark.requirement`` in a piece of source."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "requirement"
            and ast.unparse(node.func.value) == "pytest.mark"
        ):
            yield node


def ids_in(tree: ast.AST) -> set[str]:
    """The ids that marks in a piece of source name; each has to be written out."""
    return {ast.literal_eval(argument) for mark in marks_in(tree) for argument in mark.args}


def ids_of_tests(tree: ast.AST) -> set[str]:
    """The ids that decorate a test, or all tests of a module through its ``pytestmark``."""
    marked: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            marked += node.decorator_list
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "pytestmark":
            marked.append(node.value)
    return set[str]().union(*map(ids_in, marked))


@pytest.fixture(scope="module")
def sources() -> dict[str, ast.Module]:
    """Every file of the suite that names a requirement, parsed."""
    texts = {str(path.relative_to(TESTS)): path.read_text("utf-8") for path in TESTS.rglob("*.py")}
    return {name: ast.parse(text) for name, text in texts.items() if "mark.requirement" in text}


def test_every_requirement_has_a_test_that_names_it(sources: dict[str, ast.Module]) -> None:
    named = set[str]().union(*(ids_of_tests(tree) for tree in sources.values()))

    assert sorted(REQUIREMENTS.keys() - named) == []


def test_every_test_names_only_requirements_that_exist(sources: dict[str, ast.Module]) -> None:
    unknown = {name: sorted(ids_in(tree) - REQUIREMENTS.keys()) for name, tree in sources.items()}

    assert {name: ids for name, ids in unknown.items() if ids} == {}


def test_a_requirement_is_named_on_a_test_and_nowhere_else(sources: dict[str, ast.Module]) -> None:
    stray = {name: sorted(ids_in(tree) - ids_of_tests(tree)) for name, tree in sources.items()}

    assert {name: ids for name, ids in stray.items() if ids} == {}


def test_every_requirement_is_a_sentence_of_one_line() -> None:
    assert [id_ for id_, text in REQUIREMENTS.items() if "\n" in text or not text.endswith(".")] == []


def test_no_id_is_listed_twice() -> None:
    source = ast.parse((TESTS / "requirements.py").read_text("utf-8"))
    keys = [
        ast.literal_eval(key)
        for node in ast.walk(source)
        if isinstance(node, ast.Dict)
        for key in node.keys
        if key is not None
    ]

    assert sorted({key for key in keys if keys.count(key) > 1}) == []


SAMPLE = """
pytestmark = [pytest.mark.requirement("X-0")]

@pytest.mark.requirement("X-1", "X-2")
async def test_it() -> None: ...

@pytest.mark.requirement("X-3")
def helper() -> None: ...
"""


def test_marks_are_found_on_modules_and_async_tests_and_told_apart_from_those_on_helpers() -> None:
    tree = ast.parse(SAMPLE)

    assert ids_of_tests(tree) == {"X-0", "X-1", "X-2"}
    assert ids_in(tree) == {"X-0", "X-1", "X-2", "X-3"}
