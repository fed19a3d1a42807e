"""Builds the documentation as a site with a search: ``make docs``, or ``python docs/build.py``.

The pages are those of the repository, so that they can be read there as well; the navigation is the list in
``docs/README.md``. This puts them together in ``build/site``, adds the reference and the examples, and has Zensical make
``build/docs`` of it. Whatever a page links to has to be there: a link that leads nowhere fails the build.
"""
# ruff: noqa: INP001 - a script beside the documents, not part of a package

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
SOURCES = ROOT / "build" / "site"
SITE = ROOT / "build" / "docs"

REFERENCE = (
    "maverick",
    "maverick.loop.events",
    "maverick.exceptions",
    "maverick.model",
    "maverick.loop",
    "maverick.runtime",
    "maverick.journal",
    "maverick.tools",
    "maverick.tools.permissions",
    "maverick.tools.mcp",
    "maverick.providers",
    "maverick.providers.wrappers",
    "maverick.agents",
    "maverick.testing",
    "maverick.evals",
    "maverick.server",
    "maverick.chat",
    "maverick.fleet",
    "maverick.config",
    "maverick.telemetry",
)
"""The public modules. A name is described on the page of the first of them that has it."""

_ITEM = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)]+)\): (?P<summary>.+)$")
_ROW = re.compile(r"^\| (?P<summary>[^|]+) \| \[(?P<title>[^\]]+)\]\((?P<target>[^)]+)\) \|$", re.MULTILINE)
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


class Page(NamedTuple):
    """A page of the navigation."""

    title: str
    file: Path
    summary: str


# The pages ----------------------------------------------------------------------------------------------------------


def navigation() -> dict[str, list[Page]]:
    """The pages that ``docs/README.md`` lists, by section; a folder's README is followed by what its table lists."""
    sections: dict[str, list[Page]] = {}
    for line in (DOCS / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            sections[line.removeprefix("## ")] = []
        elif item := _ITEM.match(line):
            page = Page(item["title"], (DOCS / item["target"]).resolve(), item["summary"])
            sections[next(reversed(sections))].append(page)
            if page.file.name == "README.md":
                sections[next(reversed(sections))] += [
                    Page(row["title"], page.file.with_name(row["target"]), row["summary"])
                    for row in _ROW.finditer(page.file.read_text(encoding="utf-8"))
                ]
    return sections


def place(file: Path) -> str | None:
    """Where a file of the repository is on the site; ``None`` if it is not."""
    if file.is_relative_to(DOCS) and file.suffix == ".md":
        where = "contents.md" if file == DOCS / "README.md" else str(file.relative_to(DOCS))
        return where.replace("README.md", "index.md")
    if file.is_relative_to(ROOT / "examples"):
        return "examples.md" if file.is_dir() else f"examples/{file.stem}.md"
    if file.parent == ROOT and file.suffix == ".md":
        return "index.md" if file.stem == "README" else f"project/{file.stem.lower()}.md"
    return None


def rewritten(text: str, file: Path) -> str:
    """A page with its links as they are on the site; one to a file that is not there is left as text."""
    here = Path(place(file) or "").parent

    def link(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if not target or "://" in target:
            return found[0]
        there = place((file.parent / target).resolve())
        if there is None:
            return found["text"]
        return f"[{found['text']}]({os.path.relpath(there, here)}{'#' if anchor else ''}{anchor})"

    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in _FENCE.split(text))


def write_pages(folder: Path) -> None:
    """Write the pages of the repository, and one for each example."""
    pages = [
        ROOT / "README.md",
        *DOCS.rglob("*.md"),
        *(ROOT / f"{name}.md" for name in ("AGENTS", "SECURITY")),
    ]
    pages += [page.file for section in navigation().values() for page in section]
    for file in dict.fromkeys(pages):
        _write(folder / str(place(file)), rewritten(file.read_text(encoding="utf-8"), file))
    rows = []
    for file in sorted((ROOT / "examples").glob("*.py")):
        code = file.read_text(encoding="utf-8")
        doc = ast.get_docstring(ast.parse(code)) or ""
        title = doc.partition("\n")[0].rstrip(".")
        _write(folder / f"examples/{file.stem}.md", f"# {file.name}\n\n```python\n{code}```\n")
        rows.append(f"- [{file.name}](examples/{file.stem}.md): {title}")
    _write(folder / "examples.md", "# Examples\n\nPrograms that run offline.\n\n" + "\n".join(rows) + "\n")


# The reference ------------------------------------------------------------------------------------------------------


def public_names() -> dict[str, list[str]]:
    """The names of each public module: those it lists in ``__all__``, or else those it defines."""
    return {module: _names(_tree(module)) for module in REFERENCE}


def write_reference(folder: Path) -> None:
    """Write a page for each public module."""
    described: dict[str, str] = {}
    rows = []
    for module, names in public_names().items():
        doc = ast.get_docstring(_tree(module)) or ""
        lines, elsewhere = [f"# {module}", "", _markdown(doc), ""], []
        for name in names:
            home = _home(module, name)
            if home in described:
                elsewhere.append(f"[`{name}`][{described[home]}]")
            elif home.startswith("maverick."):
                described[home] = f"{module}.{name}"
                lines.append(f"::: {module}.{name}\n")
            else:
                elsewhere.append(f"`{name}` (which is `{home}`)")
        if elsewhere:
            lines.insert(3, f"Also here, and described elsewhere: {', '.join(elsewhere)}.\n")
        _write(folder / f"reference/{module}.md", "\n".join(lines))
        rows.append(f"- [`{module}`](reference/{module}.md): {_markdown(doc).partition(chr(10))[0]}")
    _write(folder / "reference.md", "# Reference\n\nThe public modules.\n\n" + "\n".join(rows) + "\n")


@cache
def _tree(module: str) -> ast.Module:
    path = ROOT / "src" / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _names(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    defined = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [name for name in defined if not name.startswith("_")]


def _home(module: str, name: str) -> str:
    """The full name of what a module calls so, in the module that defines it."""
    origin, own = _imports(module).get(name, (module, name))
    is_further = origin != module and origin.partition(".")[0] == "maverick"
    return _home(origin, own) if is_further else f"{origin}.{own}"


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """What a module imports from others: the module, and what it is called there, by the name it has here."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(_tree(module))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _markdown(doc: str) -> str:
    """Docstrings as Markdown: what Sphinx marks up as ``:class:`Name``` is code, and ``::`` a colon."""
    plain = re.sub(r":\w+:`~?(?:[^`<]+<)?([\w.]+)>?`", r"`\1`", doc)
    return re.sub(r"::$", ":", plain, flags=re.MULTILINE)


# The site -----------------------------------------------------------------------------------------------------------


def settings() -> str:
    """The settings of Zensical."""
    reference = [{module: f"reference/{module}.md"} for module in REFERENCE]
    examples = [{file.name: f"examples/{file.stem}.md"} for file in sorted((ROOT / "examples").glob("*.py"))]
    sections: list[Mapping[str, Any]] = [
        {title: [{page.title: str(place(page.file))} for page in pages]}
        for title, pages in navigation().items()
    ]
    extra = [{"Examples": ["examples.md", *examples]}, {"Reference": ["reference.md", *reference]}]
    [(title, pages)] = sections.pop().items()
    last = {title: [*pages, {"Requirements": "design/requirements.md"}]}
    nav = [{"Maverick": "index.md"}, *sections, *extra, last]
    return _TEMPLATE.format(nav=_toml(nav))


_TEMPLATE = """\
[project]
site_name = "Maverick"
site_description = "An agent runtime for Python"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
nav = {nav}

[project.theme]
font = false
features = [
    "content.code.copy", "navigation.indexes", "navigation.top", "navigation.tabs", "navigation.footer",
    "search.highlight", "toc.follow",
]
[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle = {{ icon = "lucide/sun", name = "Switch to dark mode" }}
[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle = {{ icon = "lucide/moon", name = "Switch to light mode" }}

[project.plugins.mkdocstrings.handlers.python]
paths = ["src"]

[project.plugins.mkdocstrings.handlers.python.options]
allow_inspection = false
docstring_style = "google"
filters = ["!^_"]
heading_level = 2
members_order = "source"
merge_init_into_class = true
separate_signature = true
show_if_no_docstring = true
show_labels = false
show_root_heading = true
show_root_full_path = false
show_signature_annotations = true
show_source = false
show_symbol_type_heading = true
show_symbol_type_toc = true
signature_crossrefs = true
"""


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def llms_text() -> str:
    """What ``llms.txt`` has to say: each page, with a line on what it is about."""
    lines = [
        "# Maverick",
        "",
        "> An agent runtime for Python: `pip install maverick-agents`, `import maverick`.",
    ]
    for title, pages in navigation().items():
        lines += ["", f"## {title}", ""]
        lines += [f"- [{page.title}]({place(page.file)}): {page.summary}" for page in pages]
    lines += ["", "## Reference", "", *_reference_lines()]
    return "\n".join(lines) + "\n"


def _reference_lines() -> Iterator[str]:
    for module in REFERENCE:
        summary = _markdown(ast.get_docstring(_tree(module)) or "").partition("\n")[0]
        yield f"- [{module}](reference/{module}.html): {summary}"


def write_docs(folder: Path) -> None:
    """Put together the pages that can be made of what is written by hand."""
    write_pages(folder)
    write_reference(folder)
    _write(folder / "llms.txt", llms_text())


def write_sources(folder: Path) -> None:
    """Put together all that the site is made of."""
    shutil.rmtree(folder, ignore_errors=True)
    write_docs(folder / "docs")
    subprocess.run(  # noqa: S603 - our own script
        [sys.executable, DOCS / "requirements_page.py", folder / "docs" / "design"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    for file in (ROOT / "src").rglob("*.py"):  # what the reference is made of: read, not imported
        _write(folder / file.relative_to(ROOT), _markdown(file.read_text(encoding="utf-8")))
    _write(folder / "zensical.toml", settings())


def main() -> int:
    """Build the site and say where it is."""
    write_sources(SOURCES)
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=SOURCES, check=False
    )
    if built.returncode == 0:
        shutil.rmtree(SITE, ignore_errors=True)
        (SOURCES / "site").rename(SITE)
        for file in (SOURCES / "docs").rglob("*.md"):  # for whoever reads llms.txt
            shutil.copy(file, SITE / file.relative_to(SOURCES / "docs"))
        sys.stdout.write(f"The site is in {SITE}. Look at it with: python -m http.server -d {SITE}\n")
    return built.returncode


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
