"""Reads Markdown files with YAML front matter, and remembers the line of each setting."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from maverick.exceptions import InvalidInputError

_LARGEST_FILE = 256 * 1024
_FENCE = "---"
_COLON_AT_THE_END = r":\s+\S.*:\s*$"
_PLAIN_FIELD = r"([A-Za-z][\w-]*):(?:\s+(.*))?"


class FrontMatter(Struct, frozen=True):
    """A Markdown file: its settings, where they are, and the text below them."""

    path: Path
    fields: Mapping[str, object]
    lines: Mapping[str, int]
    """The line of each setting, counted from 1."""
    body: str
    body_line: int

    def refuse(self, field: str, problem: str, cause: BaseException | None = None) -> NoReturn:
        """Raise an ``InvalidInputError`` that says what is wrong with a setting, and where it is written."""
        line = self.lines.get(field, self.body_line if field == "body" else 1)
        raise InvalidInputError(f"{self.path}, line {line}: {problem}", field=field, cause=cause)


def read_front_matter(path: Path, *, lenient: bool = False, noun: str = "agent") -> FrontMatter:
    """Read a Markdown file; an ``InvalidInputError`` names the line where it is not well formed.

    A lenient reader takes settings that are no YAML line by line, each as ``name: text``: files for other programs are often
    written so, with colons in the text. The noun is what the file describes, for errors.
    """
    lines = _read(path, noun).splitlines()
    if not lines or lines[0].rstrip() != _FENCE:
        problem = f"expected the settings of the {noun} between two lines of '---', as in: ---, name: x, ---."
        raise _error(path, 1, problem)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is None:
        problem = "the settings are not closed. Write '---' on a line of its own below them."
        raise _error(path, len(lines), problem)
    settings = lines[1:end]
    try:
        fields, places = _parsed(path, "\n".join(settings))
    except InvalidInputError:
        if not lenient:
            raise
        fields, places = _line_by_line(settings)
    return FrontMatter(path, fields, places, "\n".join(lines[end + 1 :]).strip(), end + 2)


def _read(path: Path, noun: str) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
            raise _error(path, 1, "expected a file. Move it away, or make it one.")
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        problem = f"{path} could not be read: {error.strerror}. Check the path and its permissions."
        raise InvalidInputError(problem, field="path") from error
    if len(content) > _LARGEST_FILE:
        problem = f"the file is larger than {_LARGEST_FILE // 1024} KiB. Keep only the {noun} in it."
        raise _error(path, 1, problem)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problem = f"{path}, line {line}: expected text in UTF-8. Save the file in this encoding."
        raise InvalidInputError(problem, field="path") from error


def _parsed(path: Path, text: str) -> tuple[dict[str, object], dict[str, int]]:
    import yaml  # here, because most folders have no such files

    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        tree = None if node is None else loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = 2 if mark is None else mark.line + 2
        hint = "Check the colons, quotes and indentation."
        if mark is not None and re.search(_COLON_AT_THE_END, (text.splitlines() + [""] * 2)[mark.line]):
            hint = 'Put a value that ends with a colon in quotes, such as "offline:".'
        raise _error(path, line, f"the settings are not valid YAML. {hint}") from error
    except Exception as error:  # PyYAML lets ValueError, KeyError, RecursionError and more through
        raise _error(path, 2, "the settings are not valid YAML. Check the values and quotes.") from error
    if tree is None:
        return {}, {}
    if not isinstance(node, yaml.MappingNode) or not isinstance(tree, dict):
        raise _error(path, 2, "expected settings, each as 'name: value'. Look for a missing colon or space.")
    places: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 2
        if not isinstance(key, yaml.ScalarNode):
            raise _error(path, line, "expected the name of a setting before the colon.")
        if key.value in places:
            raise _error(path, line, f"{key.value}: is written twice. Remove one of the two.")
        places[key.value] = line
    return {str(name): value for name, value in tree.items()}, places


def _line_by_line(settings: list[str]) -> tuple[dict[str, object], dict[str, int]]:
    fields: dict[str, object] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(settings, 2):
        if found := re.fullmatch(_PLAIN_FIELD, line.rstrip()):
            fields[found[1]] = (found[2] or "").strip().strip("\"'")
            places[found[1]] = number
    return fields, places


def _error(path: Path, line: int, problem: str) -> InvalidInputError:
    return InvalidInputError(f"{path}, line {line}: {problem}", field="front matter")
