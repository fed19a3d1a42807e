"""The documents agree with the repository: links, commands, dependencies, layers and states."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from docs.documents import DOCUMENTS, ROOT, named
from maverick.loop import steps

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=named(DOCUMENTS))
def test_every_link_to_a_file_or_heading_of_the_repository_leads_there(document: Path) -> None:
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        name, _, heading = target.partition("#")
        file = (document.parent / name).resolve() if name else document
        assert file.exists(), target
        assert not heading or heading in _headings(file), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=named(DOCUMENTS))
def test_every_make_command_that_is_named_exists(document: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)

    for quoted in re.findall(
        r"`make ([a-z-]+)|^make ([a-z-]+)", document.read_text(encoding="utf-8"), re.MULTILINE
    ):
        assert "".join(quoted) in targets


def test_the_page_for_those_who_change_the_code_stays_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) <= 170
    assert (ROOT / "CLAUDE.md").read_text(encoding="utf-8").splitlines() == ["Read [AGENTS.md](AGENTS.md)."]


def test_every_dependency_says_what_it_is_there_for(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    required = {*project["project"]["dependencies"]}
    required |= {wanted for extra, wants in extras.items() if extra != "all" for wanted in wants}
    declared = {re.split(r"[<>=;\[ ]", wanted)[0] for wanted in required}

    page = (ROOT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")
    core, optional = _rows(page, "Core"), _rows(page, "Extras")

    explained = {name for row in core for name in _quoted(row[0])}
    explained |= {name for row in optional for name in _quoted(row[1])}
    assert explained == declared
    assert {name for row in optional for name in _quoted(row[0])} == set(extras) - {"all"}
    installation = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    assert {name for row in _rows(installation, "Extras") for name in _quoted(row[0])} == set(extras)


@pytest.mark.requirement("F-LAYERS")
def test_the_layers_on_the_page_are_those_that_are_checked(project: dict[str, Any]) -> None:
    contract = project["tool"]["importlinter"]["contracts"][0]
    checked = [tuple(sorted(layer.split(" | "))) for layer in contract["layers"]]

    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    agents = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    drawn = next(line for line in agents.splitlines() if line.endswith("exceptions") and " > " in line)

    assert [tuple(sorted(_quoted(row[0]))) for row in _rows(page, "Layers")] == checked
    assert [tuple(sorted(layer.strip().split(" | "))) for layer in drawn.split(">")] == checked


@pytest.mark.requirement("002-AC7")
def test_the_states_of_the_conversation_loop_are_documented_with_the_steps_they_are() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")

    rows = _rows(page, "The states of the conversation loop")

    assert [row[0] for row in rows] == ["Send", "Tool execution", "Complete", "Error", "Timeout"]
    for row in rows:
        assert row[1]
        assert row[2]
        for step in _quoted(row[3]):
            assert hasattr(steps, step)


def _rows(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without its head."""
    section = page.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def _quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _headings(document: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
