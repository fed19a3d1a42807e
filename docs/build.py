"""Builds the API reference: one HTML page for each module, made from its docstrings.

Run ``make docs``, or ``python docs/build.py [FOLDER]``; the pages go to ``build/docs`` unless a folder is named. The
sources are read, not imported, so the reference is complete whatever extras are installed.
"""
# ruff: noqa: INP001 - a script beside the documents, not part of a package

from __future__ import annotations

import ast
import html
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
code, pre { font: 0.88em/1.45 ui-monospace, monospace; background: #f4f4f2; border-radius: 3px; }
code { padding: 0 0.2em; } pre { padding: 0.6em 0.8em; overflow-x: auto; } a { color: #0b5cad; text-decoration: none; }
h2 { border-top: 1px solid #ddd; padding-top: 1rem; } h2 code, h3 code { background: none; font-weight: 600; }
section section { margin-left: 1.5rem; } dt { margin-top: 0.3rem; } dd { margin: 0 0 0 1.5rem; }
"""

_SECTION = re.compile(r"^(Args|Returns|Yields|Raises):$")
_ENTRY = re.compile(r"^    (\*{0,2}\w[\w.]*): (.*)$")
_MARKUP = re.compile(r"``(?P<code>.+?)``|:\w+:`(?:(?P<title>[^`<]+) <)?~?(?P<target>[\w.]+)>?`", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A public name: what it looks like, what its docstring says, and the names inside it."""

    name: str
    signature: str
    doc: str
    members: tuple[Symbol, ...] = ()


@dataclass(frozen=True, slots=True)
class Module:
    """A module: its dotted name, its docstring, what it defines, and what it passes on from other modules."""

    name: str
    doc: str
    symbols: tuple[Symbol, ...]
    passed_on: Mapping[str, str]
    """The home module of each name that ``__all__`` lists and another module defines."""

    @property
    def page(self) -> str:
        """The file name of its page."""
        return f"{self.name}.html"


# Reading the sources ------------------------------------------------------------------------------------------------


def read_modules(sources: Path) -> list[Module]:
    """All public modules below a folder, in alphabetical order."""
    modules = []
    for path in sorted(sources.rglob("*.py")):
        name = ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")
        if not any(part.startswith("_") for part in name.split(".")):
            modules.append(_read_module(name, ast.parse(path.read_text(encoding="utf-8"))))
    return sorted(modules, key=lambda module: module.name)


def _read_module(name: str, tree: ast.Module) -> Module:
    homes = {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    listed = _listed_names(tree)
    passed_on = {listed_name: homes[listed_name] for listed_name in listed if listed_name in homes}
    return Module(name, ast.get_docstring(tree) or "", tuple(_symbols(tree.body)), passed_on)


def _listed_names(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def _symbols(body: Sequence[ast.stmt], owner: str = "") -> Iterator[Symbol]:
    """The public names a body defines; a variable of a module is one only if a docstring follows it."""
    for index, node in enumerate(body):
        following = body[index + 1] if index + 1 < len(body) else None
        match node:
            case ast.ClassDef(name=name):
                bases = f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""
                members = tuple(_symbols(node.body, name))
                symbol = Symbol(name, f"class {name}{bases}", ast.get_docstring(node) or "", members)
            case ast.FunctionDef(name="__init__") if owner:
                arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
                symbol = Symbol("constructor", f"{owner}({arguments})", "")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                symbol = Symbol(node.name, _function_signature(node), ast.get_docstring(node) or "")
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                symbol = Symbol(name, ast.unparse(node), _docstring_below(following))
            case _:
                continue
        if not symbol.name.startswith("_") and (owner or symbol.doc):
            yield symbol


def _function_signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if any(ast.unparse(decorator) in ("property", "cached_property") for decorator in node.decorator_list):
        return f"{node.name}: {ast.unparse(node.returns) if node.returns else 'Any'}"
    asynchronous = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{asynchronous}def {node.name}({ast.unparse(node.args)}){returns}"


def _docstring_below(node: ast.stmt | None) -> str:
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return cleandoc(node.value.value)
    return ""


# Writing the pages --------------------------------------------------------------------------------------------------


class Reference:
    """The pages of the modules, with links between them.

    Args:
        modules: What to write pages for.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = modules
        self._by_name = {module.name: module for module in modules}
        self._places: dict[str, str] = {}
        """Where the names are described: full names, and short ones that only one thing has."""
        ambiguous = set()
        for module in modules:
            self._places[module.name] = module.page
            for symbol in module.symbols:
                place = f"{module.page}#{symbol.name}"
                self._places[f"{module.name}.{symbol.name}"] = place
                if self._places.setdefault(symbol.name, place) != place:
                    ambiguous.add(symbol.name)
        for name in ambiguous:
            del self._places[name]

    def write(self, folder: Path) -> None:
        """Write all pages and their index into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for module in self._modules:
            (folder / module.page).write_text(self._module_page(module), encoding="utf-8")
        rows = [
            f'<dt><a href="{module.page}">{module.name}</a></dt><dd>{self._inline(_summary(module.doc))}</dd>'
            for module in self._modules
        ]
        index = _page("Maverick: API reference", f"<dl>{''.join(rows)}</dl>")
        (folder / "index.html").write_text(index, encoding="utf-8")

    def _module_page(self, module: Module) -> str:
        passed_on = "".join(
            f"<dt>{self._link(f'{home}.{name}', name)}</dt><dd>from {self._link(home, home)}</dd>"
            for name, home in sorted(self._homes(module).items())
        )
        body = '<p><a href="index.html">All modules</a></p>' + self._prose(module.doc)
        if passed_on:
            body += f"<h2>Names</h2><dl>{passed_on}</dl>"
        return _page(module.name, body + "".join(self._section(symbol) for symbol in module.symbols))

    def _homes(self, module: Module) -> dict[str, str]:
        """The modules that define what the module passes on, past those that pass it on as well."""
        homes = {}
        for name, place in module.passed_on.items():
            home = place
            while home in self._by_name and name in self._by_name[home].passed_on:
                home = self._by_name[home].passed_on[name]
            homes[name] = home
        return homes

    def _section(self, symbol: Symbol, owner: str = "") -> str:
        anchor = f"{owner}.{symbol.name}" if owner else symbol.name
        level = 3 if owner else 2
        return (
            f'<section id="{anchor}"><h{level}><code>{html.escape(symbol.signature)}</code></h{level}>'
            f"{self._prose(symbol.doc)}"
            f"{''.join(self._section(member, anchor) for member in symbol.members)}</section>"
        )

    def _prose(self, doc: str) -> str:
        """A docstring as paragraphs, indented blocks, and lists for its sections."""
        pieces = []
        for paragraph in re.split(r"\n\s*\n", doc):
            first, _, rest = paragraph.partition("\n")
            if section := _SECTION.match(first):
                pieces.append(f"<p><b>{section[1]}</b></p>{self._list(rest)}")
            elif paragraph.startswith("    "):
                pieces.append(f"<pre>{html.escape(cleandoc(paragraph))}</pre>")
            elif paragraph:
                pieces.append(f"<p>{self._inline(re.sub(r'::$', ':', paragraph))}</p>")
        return "".join(pieces)

    def _list(self, text: str) -> str:
        entries: list[tuple[str, str]] = []
        for line in text.splitlines():
            if entry := _ENTRY.match(line):
                entries.append((entry[1], entry[2]))
            elif entries:
                name, so_far = entries[-1]
                entries[-1] = (name, f"{so_far} {line.strip()}")
            else:
                entries.append(("", line.strip()))
        rows = (
            f"<dt>{self._link(name, name) if name else ''}</dt><dd>{self._inline(said)}</dd>"
            for name, said in entries
        )
        return f"<dl>{''.join(rows)}</dl>"

    def _inline(self, text: str) -> str:
        pieces, end = [], 0
        for found in _MARKUP.finditer(text):
            pieces.append(html.escape(text[end : found.start()]))
            if found["code"] is not None:
                pieces.append(self._link(found["code"], found["code"]))
            else:
                target = found["target"]
                pieces.append(self._link(target, found["title"] or target.rpartition(".")[2]))
            end = found.end()
        return "".join(pieces) + html.escape(text[end:])

    def _link(self, name: str, title: str) -> str:
        place = self._places.get(name)
        shown = f"<code>{html.escape(title)}</code>"
        return shown if place is None else f'<a href="{place}">{shown}</a>'


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>{body}</body></html>\n"
    )


def _summary(doc: str) -> str:
    return doc.partition("\n\n")[0]


def main(folder: str | None = None) -> None:
    """Build the reference and say where it is."""
    destination = ROOT / "build" / "docs" if folder is None else Path(folder)
    modules = read_modules(SOURCES)
    Reference(modules).write(destination)
    sys.stdout.write(f"{len(modules)} modules described in {destination / 'index.html'}\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
