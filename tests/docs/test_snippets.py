"""The Python in the documents runs, and prints what they say it prints."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from docs.documents import DOCUMENTS, ROOT, named, read_blocks, run_module

WITH_PYTHON = [path for path in DOCUMENTS if any(block.language == "python" for block in read_blocks(path))]
RECIPES = [path for path in WITH_PYTHON if path.parent.name == "cookbook"]
PAGES = [path for path in WITH_PYTHON if path not in RECIPES]


@pytest.mark.requirement("F-API")
@pytest.mark.parametrize("document", PAGES, ids=named(PAGES))
def test_the_python_of_a_document_runs_and_prints_what_the_document_says(
    document: Path,
) -> None:
    ran = _run(document)

    assert ran.returncode == 0, ran.stderr


@pytest.mark.requirement("F-COOKBOOK")
def test_fifteen_recipes_run_and_print_what_they_say() -> None:
    assert len(RECIPES) == 15

    ran = _run(*RECIPES)

    assert ran.returncode == 0, ran.stderr


def test_the_readme_and_every_guide_have_python_to_run() -> None:
    guides = {path.name for path in WITH_PYTHON if path.parent.name == "guides"}

    assert {"agents.md", "tools.md", "streaming-events.md", "limits.md", "testing.md", "logging.md"} <= guides
    assert "README.md" in {path.name for path in WITH_PYTHON}


def test_a_block_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    document = tmp_path / "wrong.md"
    document.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n", encoding="utf-8")

    ran = _run(document)

    assert ran.returncode == 1
    assert "line 2 printed:\n1" in ran.stderr


def test_a_block_may_await_and_sees_the_names_of_the_blocks_before_it(tmp_path: Path) -> None:
    document = tmp_path / "right.md"
    document.write_text(
        "```python\nimport asyncio\nx = 1\n```\n\n```python\nawait asyncio.sleep(0)\nprint(x)\n```\n\n```text\n1\n```\n",
        encoding="utf-8",
    )

    assert _run(document).returncode == 0


def _run(*documents: Path) -> CompletedProcess[str]:
    return run_module("docs.snippets", *documents, cwd=ROOT / "tests", timeout=60 * len(documents))
