"""The package as a whole: what importing it costs, what it exports, and how it is layered."""

from __future__ import annotations

import ast
import inspect
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest

import maverick
from scripts import run_python

PACKAGE = Path(str(maverick.__file__)).parent
PROJECT = Path(__file__).parents[1]

HEAVY = (
    "anthropic",
    "openai",
    "mcp",
    "fastapi",
    "textual",
    "rich",
    "sqlalchemy",
    "sqlmodel",
    "claude_agent_sdk",
    "temporalio",
)
LIGHT_TOO = ("aiohttp", "pydantic", "yaml", "asyncio")


def loaded_by(statement: str, names: tuple[str, ...]) -> list[str]:
    """Which of the modules a statement loads, in an interpreter of its own."""
    return run_python(f"import sys\n{statement}\nprint(*[n for n in {names!r} if n in sys.modules])").split()


@pytest.mark.requirement("F-IMPORT")
def test_importing_the_package_loads_nothing_it_does_not_need() -> None:
    assert loaded_by("import maverick", HEAVY + LIGHT_TOO) == []


@pytest.mark.requirement("F-IMPORT")
@pytest.mark.parametrize(
    "statement",
    [
        "from maverick import *",
        "from maverick import AgentDefinition, AgentExecutor, connect, run_sync, tool",
        "from maverick.agents import registry",
        "from maverick.testing import ScriptedClient",
        "import maverick.cli.main",
    ],
)
def test_using_the_package_loads_nothing_heavy(statement: str) -> None:
    assert loaded_by(statement, (*HEAVY, "aiohttp", "pydantic", "sqlite3", "yaml")) == []


@pytest.mark.requirement("F-IMPORT", "F-API")
def test_every_public_name_is_there_and_listed() -> None:
    assert 25 <= len(maverick.__all__) <= 60
    assert maverick.__all__ == sorted(set(maverick.__all__))
    for name in maverick.__all__:
        assert getattr(maverick, name).__doc__ or name == "AgentActivityEvent"  # a union has none
        assert name in dir(maverick)


@pytest.mark.requirement("F-API")
def test_what_users_import_in_the_documented_ways_is_there() -> None:
    files = sorted(map(str, (PROJECT / "tests" / "typing").glob("*.py")))

    assert run_python(f"import runpy\nfor file in {files}: runpy.run_path(file)") == ""


@pytest.mark.requirement("F-API")
def test_a_public_name_is_one_class_unless_two_seeds_name_theirs_alike() -> None:
    homes: dict[str, set[type]] = {}
    for path in PACKAGE.rglob("__init__.py"):
        module = import_module(".".join(path.parent.relative_to(PACKAGE.parent).parts))
        for name in getattr(module, "__all__", ()):
            if isinstance(value := getattr(module, name), type):
                homes.setdefault(name, set()).add(value)

    assert {name for name, classes in homes.items() if len(classes) > 1} == {"AgentContext", "AgentResult"}


UNRESOLVED = {
    "MaverickAgent.options": "the Claude Agent SDK",
    "extract_all_text": "the Claude Agent SDK",
    "extract_text": "the Claude Agent SDK",
    "extract_usage": "the Claude Agent SDK",
    "AgentRunner.__init__": "MCP",
    "DefinitionAgent.execute": "what only agents that are classes need",
    "create_app": "Temporal",
}
"""Public names whose types cannot be read at run time, and what they would have to load at their start."""


def public_functions() -> Iterator[tuple[str, object]]:
    """The public classes, their methods and properties, and the public functions."""
    paths = [path for depth in ("", "*/", "tools/*/") for path in PACKAGE.glob(f"{depth}__init__.py")]
    for path in paths:
        module = import_module(".".join(path.parent.relative_to(PACKAGE.parent).parts))
        for name in getattr(module, "__all__", ()):
            public = getattr(module, name)
            if inspect.isfunction(public) or inspect.isclass(public):
                yield name, public
            for key, member in vars(public).items() if inspect.isclass(public) else ():
                called = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
                if inspect.isfunction(called) and (key == "__init__" or not key.startswith("_")):
                    yield f"{name}.{key}", called


def test_the_types_of_public_names_can_be_read_at_run_time() -> None:
    unresolved = set()
    for name, public in public_functions():
        try:
            get_type_hints(public)
        except NameError:
            unresolved.add(name)

    assert unresolved == UNRESOLVED.keys()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"no 'AgentExecuter'.* 'AgentExecutor'"):
        maverick.AgentExecuter  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]

    assert maverick.__version__ == project["version"]


@pytest.mark.requirement("F-LAYERS")
def test_the_layers_are_a_contract_that_leaves_no_module_out() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = settings["contracts"]
    named = {name.strip() for layer in contract["layers"] for name in layer.split("|")}
    modules = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }

    assert (contract["type"], contract["exhaustive"]) == ("layers", True)
    assert contract["layers"][-1] == "exceptions"
    assert modules - {"__init__", "__main__"} == named


@pytest.mark.requirement("F-LAYERS")
def test_no_layer_imports_one_above_it() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    heights = {
        name.strip(): -height
        for height, layer in enumerate(settings["contracts"][0]["layers"])
        for name in layer.split("|")
    }
    upward = [
        (str(path.relative_to(PACKAGE)), imported)
        for path in PACKAGE.rglob("*.py")
        for imported in imports_of(path)
        if (own := path.relative_to(PACKAGE).parts[0].removesuffix(".py")) in heights
        and imported != own
        and heights.get(imported, -100) >= heights[own]
    ]

    assert upward == []


@pytest.mark.requirement("F-LAYERS")
def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports in functions, and those for types alone, count too."""
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    graph = TopologicalSorter({name: imported_modules(name, modules) for name in modules})

    try:
        graph.prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


@cache
def read(path: Path) -> tuple[str | None, list[ast.Import | ast.ImportFrom]]:
    """What a file says it is for, and what it imports, at its top or later."""
    tree = ast.parse(path.read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return ast.get_docstring(tree), imports


def imported_modules(name: str, modules: Mapping[str, Path]) -> set[str]:
    """The modules of the package that one of them imports, wherever in it the import is."""
    found: set[str] = set()
    for node in read(modules[name])[1]:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                found.add(submodule if submodule in modules else str(node.module))
    return (found & modules.keys()) - {name}


def imports_of(path: Path) -> set[str]:
    """The parts of the package that a file imports, at its top or later."""
    modules = [
        name
        for node in read(path)[1]
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
    ]
    return {name.split(".")[1] for name in modules if name.startswith("maverick.")}


def test_every_module_says_what_it_is_for() -> None:
    assert [path for path in PACKAGE.rglob("*.py") if not read(path)[0]] == []
