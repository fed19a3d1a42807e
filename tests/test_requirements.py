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
def ids() -> dict[str, tuple[set[str], set[str]]]:
    """For every file of the suite that names a requirement, the ids on its tests and all that it names."""
    texts = {str(path.relative_to(TESTS)): path.read_text("utf-8") for path in TESTS.rglob("*.py")}
    trees = {name: ast.parse(text) for name, text in texts.items() if "mark.requirement" in text}
    return {name: (ids_of_tests(tree), ids_in(tree)) for name, tree in trees.items()}


def test_every_requirement_has_a_test_that_names_it(ids: dict[str, tuple[set[str], set[str]]]) -> None:
    named = set[str]().union(*(on_tests for on_tests, _ in ids.values()))

    assert sorted(REQUIREMENTS.keys() - named) == []


def test_every_test_names_only_requirements_that_exist(ids: dict[str, tuple[set[str], set[str]]]) -> None:
    unknown = {name: sorted(every - REQUIREMENTS.keys()) for name, (_, every) in ids.items()}

    assert {name: wrong for name, wrong in unknown.items() if wrong} == {}


def test_a_requirement_is_named_on_a_test_and_nowhere_else(ids: dict[str, tuple[set[str], set[str]]]) -> None:
    stray = {name: sorted(every - on_tests) for name, (on_tests, every) in ids.items()}

    assert {name: wrong for name, wrong in stray.items() if wrong} == {}


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
