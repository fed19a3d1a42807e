"""The site is made of all pages, their links lead somewhere, and the reference describes everything public."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from docs.documents import ROOT

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)[^)]*\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_docs", ROOT / "docs" / "build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.requirement("DOCS-SITE")
def test_every_page_is_listed_once_with_what_is_on_it(build: ModuleType) -> None:
    listed = [page.file for section in build.navigation().values() for page in section]
    pages = {*(ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / "README.md"}

    assert sorted({*listed} & pages) == sorted(pages)
    assert len(listed) == len({*listed})
    assert all(file.exists() for file in listed)


@pytest.mark.requirement("DOCS-SITE")
def test_every_link_of_the_site_leads_to_a_page_of_it(build: ModuleType, tmp_path: Path) -> None:
    docs = tmp_path
    build.write_docs(docs)

    pages = [*docs.rglob("*.md")]
    for page in pages:
        for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            if "://" not in target:
                assert (page.parent / target).exists(), (page.relative_to(docs), target)
    named = LINK.findall((docs / "llms.txt").read_text(encoding="utf-8"))
    assert len(named) > 50
    assert all((docs / name).with_suffix(".md").exists() for name in named)
    settings = build.settings()
    assert all(f'"{page.relative_to(docs)}"' in settings for page in pages if page.parent.name == "guides")


@pytest.mark.requirement("DOCS-REFERENCE")
def test_every_public_name_and_each_of_its_members_is_documented(build: ModuleType) -> None:
    silent = sorted({name for module in build.REFERENCE for name in _silent(build, module)})

    assert silent == []


def _silent(build: ModuleType, module: str) -> Iterator[str]:
    """What has no docstring: public names of a module, their public methods, and the fields that a class declares."""
    for name in build.public_names()[module]:
        home, _, own = build._home(module, name).rpartition(".")
        if not home.startswith("maverick"):
            continue
        body = build._tree(home).body
        for index, node in enumerate(body):
            if _name_of(node) == own and not isinstance(node, ast.Import | ast.ImportFrom):
                if not _is_documented(body, index) and not _is_overload(node):
                    yield f"{home}.{own}"
                if isinstance(node, ast.ClassDef):
                    inherited = {name for base in node.bases for name in _fields(body, ast.unparse(base))}
                    yield from _silent_members(node, f"{home}.{own}", inherited)


def _fields(body: list[ast.stmt], name: str) -> set[str]:
    """The members that a class and its bases in the same module have: they are described there."""
    owners = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name.partition("[")[0]]
    own = {_name_of(node) for owner in owners for node in owner.body}
    return own.union(*(_fields(body, ast.unparse(base)) for owner in owners for base in owner.bases))


def _silent_members(owner: ast.ClassDef, where: str, inherited: set[str]) -> Iterator[str]:
    known = inherited | {
        found[1]
        for found in re.finditer(r"^ +(\w+): ", ast.get_docstring(owner, clean=False) or "", re.MULTILINE)
    }
    for index, node in enumerate(owner.body):
        name = _name_of(node)
        is_ours = name and not name.startswith("_") and name not in known
        if is_ours and not _is_documented(owner.body, index) and not _is_overload(node):
            yield f"{where}.{name}"


def _name_of(node: ast.stmt) -> str:
    match node:
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return node.name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _is_documented(body: list[ast.stmt], index: int) -> bool:
    node = body[index]
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return bool(ast.get_docstring(node))
    following = body[index + 1] if index + 1 < len(body) else None
    return (
        isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
        and isinstance(following.value.value, str)
    )


def _is_overload(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        ast.unparse(decorator).rpartition(".")[2] in ("overload", "setter")
        for decorator in node.decorator_list
    )
